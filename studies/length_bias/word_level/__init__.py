"""The word-level matchers of Jiang et al. 2022: MatchPyramid, BiMPM, ESIM."""
