def test_answers(dlbench):
    result = dlbench.measure("programs/answers.py", environment="requirements.txt", steps=200, requests=32)
    result.require(accuracy=0.9)
