/** A module that uses kvsep. */
module outside {
  requires io.kvsep.core;
}
