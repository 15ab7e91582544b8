/** What an attack is told of the place it stands in. Never the secret itself. */
export interface Facts {
  /** The host's working folder. */
  readonly cwd: string
  readonly work: string
  readonly outside: string
  /** Ports on loopback: one nobody granted, one that `localhost` is granted at, one for datagrams. */
  readonly port: number
  readonly grantedPort: number
  readonly udpPort: number
  readonly hostPid: number
  /** Open descriptors of the host: a secret to read, a log to write, a socket. */
  readonly fds: { readonly secret: number; readonly log: number; readonly socket: number }
}

/** The part the runner knows before a host is there. */
export type GroundFacts = Omit<Facts, 'hostPid' | 'fds'>
