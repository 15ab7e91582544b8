/** A mechanism of the operating system that confines a child process, or why it is not used. */
export type OsLayer<Means> =
  | ({ readonly active: true } & Means)
  | { readonly active: false; readonly reason: string }

export const inactive = (reason: string): { readonly active: false; readonly reason: string } =>
  ({ active: false, reason })

export interface OsLayers {
  /** Limits on memory, files and core dumps. */
  readonly rlimits: OsLayer<RlimitMeans>
  /** No network, no files but those of Node, no other processes and no signals to them. */
  readonly bubblewrap: OsLayer<BubblewrapMeans>
  /** No new processes, no sockets, no system calls that kernel exploits use. Bubblewrap or the launcher sets it. */
  readonly seccomp: OsLayer<SeccompMeans>
  /** Without bubblewrap: no files but those of Node, no privileges, and the namespaces that work. */
  readonly launcher: OsLayer<LauncherMeans>
  /** Without both: no privileges, and where namespaces work, no network and no other processes. */
  readonly utilLinux: OsLayer<UtilLinuxMeans>
}

export interface RlimitMeans {
  /** The path of `prlimit`. Undefined where only the launcher can set limits. */
  readonly path: string | undefined
  /** What RLIMIT_DATA counts for idle Node: mostly reserved code and stacks. */
  readonly idleDataBytes: number
  /** What RLIMIT_DATA counts for the thread of the compartment. */
  readonly threadDataBytes: number
  /** The host's own hard limits, which only root can exceed. */
  readonly hard: ReadonlyMap<string, number>
}

export interface BubblewrapMeans {
  /** The path of `bwrap`. */
  readonly path: string
  /** The path of Node inside. */
  readonly node: string
  /** The files that Node needs, by their path inside. */
  readonly files: ReadonlyMap<string, string>
  /** Whether `bwrap` can forbid user namespaces inside. */
  readonly refusesNamespaces: boolean
  /** Set for a process that a debugger connects to. */
  readonly sharesNetwork?: true
}

/** What is left around a process that a debugger connects to: it needs a socket in the network of the developer. */
export function openToDebugger({ rlimits, bubblewrap }: OsLayers): OsLayers {
  const layer = inactive('a debugger connects to the process')
  return {
    rlimits, seccomp: layer, launcher: layer, utilLinux: layer,
    bubblewrap: bubblewrap.active ? { ...bubblewrap, sharesNetwork: true } : bubblewrap,
  }
}

export interface SeccompMeans {
  readonly filter: Uint8Array
}

export interface LauncherMeans {
  /** The files that Node needs. */
  readonly files: readonly string[]
  /** Whether it runs as an unprivileged user instead of root. */
  readonly isOtherUser: boolean
  /** Separate namespaces for network, IPC and processes. */
  readonly namespaces: OsLayer<NamespaceMeans>
}

export interface UtilLinuxMeans {
  readonly setpriv: PrivilegeMeans
  /** Separate namespaces for network, IPC and processes. */
  readonly namespaces: OsLayer<NamespaceMeans>
}

export interface Program {
  readonly path: string
  readonly options: readonly string[]
}

/** For `setpriv`: it always forbids gaining privileges. */
export interface PrivilegeMeans extends Program {
  /** Whether it drops all capabilities, also from the bounding set. */
  readonly dropsCapabilities: boolean
  /** Whether it runs as an unprivileged user instead of root. */
  readonly isOtherUser: boolean
}

export interface NamespaceMeans extends Program {
  /** Path of `setpriv`, which ties `unshare` to the host. */
  readonly setpriv: string
  /** Path of `sh`, the first process of the namespace. */
  readonly shell: string
}

/** What the test process reports about itself. */
export interface InsideReport {
  /** /proc/self/status */
  readonly status: string
  /** Links of /proc/self/ns, by the names in NAMESPACES. */
  readonly namespaces: readonly string[]
}
