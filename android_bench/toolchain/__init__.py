"""Tools and libraries of the Android work, unpacked into a folder; nothing is installed on the system."""
