/** What an attack knows about its target. Never the secret itself. */
export interface Facts {
  /** The host's working folder. */
  readonly cwd: string
  readonly work: string
  readonly outside: string
  /** Ports on loopback: one that is not granted, one that is granted as `localhost`, one for datagrams. */
  readonly port: number
  readonly grantedPort: number
  readonly udpPort: number
  readonly hostPid: number
  /** Open descriptors of the host: a secret to read, a log to write, a socket. */
  readonly fds: { readonly secret: number; readonly log: number; readonly socket: number }
}

/** What the runner knows before a host has started. */
export type TargetFacts = Omit<Facts, 'hostPid' | 'fds'>
