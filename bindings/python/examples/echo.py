"""An echo in two processes: a server that sends everything back, and a client.

    python3 echo.py              both
    python3 echo.py server 42    or each by itself
    python3 echo.py client 42 hello
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # not needed once installed
from weft import ripc


def server(id, count=None):
    with ripc.Context() as context, context.bind(id) as service:
        for number, message in enumerate(service, 1):
            message.reply(message.data)
            if number == count:
                return


def client(id, *words):
    with ripc.Context() as context, context.bind() as service:
        service.watch(id)  # the server may not have started yet
        while not any(event.kind == ripc.UP for event in service.poll(timeout=10)):
            pass
        for word in words:
            service.send(id, word.encode(), timeout=10)
            print(service.receive(timeout=10).data.decode())


if len(sys.argv) > 2:
    {"server": server, "client": client}[sys.argv[1]](int(sys.argv[2], 0), *sys.argv[3:])
elif (child := os.fork()) == 0:
    server(1007, count=2)
else:
    client(1007, "hello", "world")
    os.waitpid(child, 0)
