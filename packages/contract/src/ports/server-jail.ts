import type { DeniedPaths } from './use-rules.ts'

/** What a local server gets besides the programs of the system and its own private folders. */
export interface JailGrant {
  /** Absolute paths. Each is granted with everything below it. */
  readonly read: readonly string[]
  /** Absolute paths that it may also write. */
  readonly write: readonly string[]
  /** Host patterns, as in requirements. */
  readonly hosts: readonly string[]
  /** Whether it may have the whole network where the jail cannot limit it to the hosts. */
  readonly acceptsNetwork?: boolean
}

/** A key that a process may use and never sees. It gets a placeholder, which the relay replaces on the way. */
export interface KeyGrant {
  /** The variable that holds the placeholder. */
  readonly name: string
  readonly value: string
  /** The only host that gets the value, over https: a name in lower case, with a port unless it is 443. */
  readonly host: string
  /** The only header in which the placeholder is replaced. */
  readonly header: string
  readonly methods: readonly string[]
  /** Path patterns. `*` stays inside one segment; `/**` at the end includes everything below. */
  readonly paths: readonly string[]
}

/** A placeholder on the way to a host. */
export interface KeyUse {
  /** The name of the key. */
  readonly key: string
  readonly host: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Where the placeholder was instead, as the end of a sentence. Then the value was not sent. */
  readonly refused?: string
}

/** A local server as its entry describes it. */
export interface ServerStart {
  /** The executable and its arguments. */
  readonly command: readonly string[]
  /** The working directory, if it is granted. */
  readonly cwd: string
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>
  readonly grant: JailGrant
  /** Keys that it uses and does not get. Contract: their hosts are granted, and `env` has none of their names. */
  readonly keys?: readonly KeyGrant[]
  /** What rules deny: hidden, as far as it exists at the start. */
  readonly denied?: DeniedPaths | undefined
}

/** How to start a server inside its jail. Release it when the process is gone. */
export interface JailedStart {
  /** Replaces the command. Contract: it leads a process group of its own. */
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** From descriptor 3 on. Bytes are written to the descriptor, which is then closed. null: /dev/null. */
  readonly descriptors: readonly (Uint8Array | null)[]
  /**
   * Call it once the process has started: the limits on all its processes together apply from then on. If one is
   * exceeded, `ended` gets the reason, as a part of a sentence, and the process group is killed. It must not throw.
   */
  watch(pid: number, ended: (why: string) => void): void
  /** Idempotent. */
  release(): Promise<void>
}

/** Confines local servers: they are processes of third parties. */
export interface ServerJail {
  /**
   * `report` gets a line for each connection that was refused, `onKeyUse` each use of a key. They must not throw.
   * Rejects with CapabilityUnavailable where the file system or, for a server with hosts, the network cannot be confined,
   * and with RuleDenied where what rules deny cannot be hidden.
   */
  prepare(
    start: ServerStart, report: (line: string) => void, onKeyUse?: (use: KeyUse) => void,
  ): Promise<JailedStart>
  /** Why a server with this grant cannot be confined on this machine; undefined if it can. */
  findFault(grant: Pick<JailGrant, 'hosts' | 'acceptsNetwork'>): Promise<string | undefined>
}
