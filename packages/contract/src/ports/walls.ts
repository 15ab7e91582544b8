/** An isolation feature of the operating system that does not work on this machine. */
export interface MissingWall {
  readonly message: string
  readonly cure: string
}

/** An isolation feature, and whether it works on this machine. */
export interface Wall {
  /** The program or mechanism, such as bwrap. */
  readonly name: string
  /** The code that it is around: extensions in a process, commands of tools, or local servers. */
  readonly around: 'process' | 'commands' | 'servers'
  readonly stands: boolean
  /** Why it does not stand. */
  readonly reason?: string
  /** What that code can do without it. */
  readonly cost: string
  /** How to get it. */
  readonly cure: string
  /** Whether such code is refused without it. */
  readonly isRequired: boolean
}
