"""Policies as they should not be: each goes wrong on the topic ``bad``."""

import ctypes
import os
import re
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from kgitops.policy import BaseTopicPolicy, PolicyViolation


class Bad(BaseTopicPolicy):
    def validate_create_topic(self, request, cluster_state):
        if request.topic.startswith("bad"):
            return self.go_wrong(request, cluster_state)
        return None


class Raises(Bad):
    def go_wrong(self, request, cluster_state):
        return 1 / 0


class RaisesSystemExit(Bad):
    def go_wrong(self, request, cluster_state):
        sys.exit("enough")


class RaisesKeyboardInterrupt(Bad):
    def go_wrong(self, request, cluster_state):
        raise KeyboardInterrupt


class RaisesGeneratorExit(Bad):
    def go_wrong(self, request, cluster_state):
        raise GeneratorExit("as bare as can be")


class RaisesUnprintable(Bad):
    def go_wrong(self, request, cluster_state):
        class UnprintableError(Exception):
            def __str__(self):
                raise RuntimeError

        raise UnprintableError


class RaisesUnpicklable(Bad):
    def go_wrong(self, request, cluster_state):
        raise ValueError(lambda: None, threading.Lock())


class Interrupts(Bad):
    """Sends itself what Ctrl-C sends."""

    def go_wrong(self, request, cluster_state):
        os.kill(os.getpid(), signal.SIGINT)


class Loops(Bad):
    def go_wrong(self, request, cluster_state):
        while True:
            pass


class Sleeps(Bad):
    def go_wrong(self, request, cluster_state):
        while True:
            with suppress(BaseException):
                time.sleep(3600)


class KeepsTheInterpreter(Bad):
    """One call into C that takes for ever: no other thread gets a turn."""

    def go_wrong(self, request, cluster_state):
        re.fullmatch(r"(a|a)*b", "a" * 100)


class Stops(Bad):
    def go_wrong(self, request, cluster_state):
        os.kill(os.getpid(), signal.SIGSTOP)


class Kills(Bad):
    def go_wrong(self, request, cluster_state):
        os.kill(os.getpid(), signal.SIGKILL)


class Exits(Bad):
    def go_wrong(self, request, cluster_state):
        os._exit(3)


class ExitsWithZero(Bad):
    def go_wrong(self, request, cluster_state):
        os._exit(0)


class Crashes(Bad):
    def go_wrong(self, request, cluster_state):
        ctypes.string_at(0)


class Allocates(Bad):
    def go_wrong(self, request, cluster_state):
        kept = []
        while True:
            kept.append(bytearray(1 << 20))


class AllocatesAtOnce(Bad):
    def go_wrong(self, request, cluster_state):
        return "a" * (1 << 40)


class Hoards(BaseTopicPolicy):
    """Takes a little more with each request, and catches what tells it to stop."""

    kept: ClassVar = []

    def validate_create_topic(self, request, cluster_state):
        with suppress(MemoryError):
            while request.topic.startswith("bad"):
                self.kept.append(bytearray(1 << 16))


class Recurses(Bad):
    def go_wrong(self, request, cluster_state):
        return self.go_wrong(request, cluster_state)


class RecursesWithoutLimit(Bad):
    def go_wrong(self, request, cluster_state):
        sys.setrecursionlimit(1 << 30)

        class Deep:
            def __repr__(self):
                return repr(self) + "."

        repr(Deep())


class ReturnsFalse(Bad):
    def go_wrong(self, request, cluster_state):
        return False


class ReturnsText(Bad):
    def go_wrong(self, request, cluster_state):
        return "denied"


class FieldIsNoText(Bad):
    def go_wrong(self, request, cluster_state):
        raise PolicyViolation("why", field=["configs", "retention.ms"])


class MessageCannotBeText(Bad):
    def go_wrong(self, request, cluster_state):
        class Message:
            def __str__(self):
                raise RuntimeError("no words")

        raise PolicyViolation(Message())


class StartsThreads(Bad):
    def go_wrong(self, request, cluster_state):
        while True:
            threading.Thread(target=time.sleep, args=(3600,)).start()


class ChangesConfigs(Bad):
    def go_wrong(self, request, cluster_state):
        request.requested_state.configs["retention.ms"] = "1"


class ChangesRequestedConfigs(Bad):
    def go_wrong(self, request, cluster_state):
        request.requested_state.requested_configs.clear()


class ChangesTheRequest(Bad):
    def go_wrong(self, request, cluster_state):
        request.topic = "good"


class ChangesTheState(Bad):
    def go_wrong(self, request, cluster_state):
        cluster_state.topic_state("there").configs["retention.ms"] = "1"


class ChangesTheTopics(Bad):
    def go_wrong(self, request, cluster_state):
        cluster_state.topics().clear()


class ClosesAllFiles(Bad):
    def go_wrong(self, request, cluster_state):
        os.closerange(0, 256)


class WritesIntoAllFiles(Bad):
    def go_wrong(self, request, cluster_state):
        for file in range(3, 256):
            with suppress(OSError):
                os.write(file, b"nonsense" * 3)


class WritesAnAnswer(Bad):
    """Answers in place of the judge, in its very form; whoever goes on reading finds out."""

    def go_wrong(self, request, cluster_state):
        answer = b'["judged",0,{"all":"passed"}]'
        for file in range(3, 256):
            with suppress(OSError):
                os.write(file, len(answer).to_bytes(8, "big") + answer)


# What follows is rude and harmless.


class Prints(Bad):
    def go_wrong(self, request, cluster_state):
        print("printed" * (1 << 20))
        os.write(1, b"written\n")


class ClosesStdout(Bad):
    def go_wrong(self, request, cluster_state):
        sys.stdout.close()
        os.close(1)
        sys.stderr.close()
        sys.stdin.close()


class Forks(Bad):
    def go_wrong(self, request, cluster_state):
        os.fork()


class LeavesAThread(Bad):
    def go_wrong(self, request, cluster_state):
        threading.Thread(target=time.sleep, args=(3600,)).start()


class AlarmsLater(Bad):
    """What it raises comes when no policy is at work any more."""

    def go_wrong(self, request, cluster_state):
        def ring(*_):
            raise TimeoutError

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.1)


# What follows denies in an odd way.


class HugeMessage(Bad):
    def go_wrong(self, request, cluster_state):
        raise PolicyViolation("long " * 20_000_000, field="x" * 100_000)


class NumberAsMessage(Bad):
    def go_wrong(self, request, cluster_state):
        raise PolicyViolation(42)


class NoMessage(Bad):
    def go_wrong(self, request, cluster_state):
        raise PolicyViolation


class NoneAsMessage(Bad):
    def go_wrong(self, request, cluster_state):
        raise PolicyViolation(None)


class BrokenText(Bad):
    def go_wrong(self, request, cluster_state):
        raise PolicyViolation("half \ud800 a pair, \0 and \x1b[31m")


# What follows goes wrong when it is closed.


class HangsInClose(BaseTopicPolicy):
    def close(self):
        time.sleep(3600)


class TellsItsFiles(BaseTopicPolicy):
    def validate_create_topic(self, request, cluster_state):
        targets = []
        for file in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                targets.append(str(file.readlink()))
        raise PolicyViolation(" ".join(targets))


class Naps(Bad):
    def go_wrong(self, request, cluster_state):
        time.sleep(1)


class LeavesADaemon(BaseTopicPolicy):
    """In a session of its own, of nobody's, and deaf to whatever can be refused."""

    def configure(self, configs):
        self.file, self.then = configs["file"], configs.get("then", "")

    def validate_create_topic(self, request, cluster_state):
        done, told = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.setsid()
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                Path(self.file).write_text(str(os.getpid()))
                os.write(told, b"x")
                time.sleep(3600)
            os._exit(0)
        os.read(done, 1)
        match self.then:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                time.sleep(3600)
            case "kill the supervisor":
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(3600)
            case "stop the supervisor":
                os.kill(os.getppid(), signal.SIGSTOP)
            case "kill the group":
                os.killpg(0, signal.SIGKILL)
