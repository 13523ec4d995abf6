package mobilebert.runtime;

/** A network on the CPU that says why it is there. */
final class OnTheCpu implements Network {
  private final Network network;
  private final String why;

  OnTheCpu(Network network, String why) {
    this.network = network;
    this.why = why;
  }

  @Override
  public String runtime() {
    return network.runtime() + " on the CPU (" + why + ")";
  }

  @Override
  public float[][] run(TextEncoder.Encoded input) {
    return network.run(input);
  }

  @Override
  public void close() {
    network.close();
  }
}
