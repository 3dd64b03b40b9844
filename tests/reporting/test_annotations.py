from pytest_dlbench.reporting.annotations import Failure, annotation


def test_an_annotation_is_on_the_line_of_the_test():
    failure = Failure(path="bench/test_it.py", line=7, title="it", message="regressed")
    assert annotation(failure) == "::error file=bench/test_it.py,line=7,title=it::regressed"


def test_text_that_would_end_a_workflow_command_is_escaped():
    failure = Failure(path="a,b:c.py", line=1, title="t::x,\n", message="100 %\r\n::error")
    assert annotation(failure) == "::error file=a%2Cb%3Ac.py,line=1,title=t%3A%3Ax%2C%0A::100 %25%0A\\x3a:error"
