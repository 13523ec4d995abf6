"""Does an artefact answer as the PyTorch model does?"""
