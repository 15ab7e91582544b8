/** Rights of Landlock on files, in the order of the kernel's bits. */
export const FILE_RIGHTS = {
  execute: 1 << 0, writeFile: 1 << 1, readFile: 1 << 2, readDir: 1 << 3, removeDir: 1 << 4, removeFile: 1 << 5,
  makeChar: 1 << 6, makeDir: 1 << 7, makeReg: 1 << 8, makeSock: 1 << 9, makeFifo: 1 << 10, makeBlock: 1 << 11,
  makeSym: 1 << 12, refer: 1 << 13, truncate: 1 << 14, ioctlDev: 1 << 15,
} as const
const TCP_RIGHTS = { bind: 1 << 0, connect: 1 << 1 } as const
/** Abstract unix sockets and signals of processes outside. */
const SCOPES = (1 << 0) | (1 << 1)

const { execute, writeFile, readFile, readDir, refer, truncate, ioctlDev, makeSym } = FILE_RIGHTS
const FIRST_FILE_RIGHTS = makeSym * 2 - 1
const ALL_TCP = TCP_RIGHTS.bind | TCP_RIGHTS.connect

/** What a rule set governs: rights on files, rights on TCP ports, scopes. */
export interface Governed {
  readonly files: number
  readonly tcp: number
  readonly scopes: number
}

/** What each ABI of Landlock can govern, from ABI 1 on. ABI 7 adds audit records only. */
const BY_ABI: readonly Governed[] = [
  { files: FIRST_FILE_RIGHTS, tcp: 0, scopes: 0 },
  { files: FIRST_FILE_RIGHTS | refer, tcp: 0, scopes: 0 },
  { files: FIRST_FILE_RIGHTS | refer | truncate, tcp: 0, scopes: 0 },
  { files: FIRST_FILE_RIGHTS | refer | truncate, tcp: ALL_TCP, scopes: 0 },
  { files: FIRST_FILE_RIGHTS | refer | truncate | ioctlDev, tcp: ALL_TCP, scopes: 0 },
  { files: FIRST_FILE_RIGHTS | refer | truncate | ioctlDev, tcp: ALL_TCP, scopes: SCOPES },
  { files: FIRST_FILE_RIGHTS | refer | truncate | ioctlDev, tcp: ALL_TCP, scopes: SCOPES },
]

export const NEWEST_ABI = BY_ABI.length

/** From this ABI on, a process can be kept from changing files: before, it could truncate them. */
const WALL_ABI = 3
/** From this ABI on, a process cannot signal processes outside. */
export const SIGNAL_ABI = 6

/** Rights that a rule on a file may have. The others are for folders, and the kernel refuses them on a file. */
const ON_FILES = execute | writeFile | readFile | truncate | ioctlDev

/**
 * What a program may open; nothing else. A folder stands for all in it. Rules only add: nothing inside a granted folder
 * can be taken back. A path that does not exist, or cannot be reached, is left out.
 */
export interface FileGrants {
  /** May be listed, with what is below. */
  readonly list?: readonly string[]
  /** May be read and listed. */
  readonly read?: readonly string[]
  /** May also be executed. */
  readonly run?: readonly string[]
  /** May also be changed: written, created, removed, renamed. */
  readonly write?: readonly string[]
  /** Whether a path that leads through a link is left out, because others can change the folders meanwhile. */
  readonly noLinks?: boolean
}

/** Ports that a program may connect to or listen at; `any`: not limited. Landlock knows ports, not addresses. */
export interface TcpGrants {
  readonly connect?: readonly number[] | 'any'
  readonly bind?: readonly number[] | 'any'
}

/** A rule set as the launcher takes it. */
export interface RuleSet {
  /** By ABI. The launcher takes the entry of the kernel's ABI, or the last one. */
  readonly governed: readonly Governed[]
  /** The launcher refuses a kernel with a lower ABI. */
  readonly leastAbi: number
  readonly onFiles: number
  readonly noLinks: boolean
  readonly paths: readonly (readonly [path: string, rights: number])[]
  readonly ports: readonly (readonly [port: number, rights: number])[]
}

const READ = readFile | readDir
const RUN = READ | execute
const NEVER_GRANTED = FILE_RIGHTS.makeChar | FILE_RIGHTS.makeBlock | ioctlDev
const WRITE = (BY_ABI.at(-1)!.files & ~NEVER_GRANTED) | RUN

/** The rule set for these grants. `leastAbi`: below it, the launcher starts nothing. */
export function ruleSet(files: FileGrants, tcp: TcpGrants = {}, leastAbi = WALL_ABI): RuleSet {
  const levels = [[files.list, readDir], [files.read, READ], [files.run, RUN], [files.write, WRITE]] as const
  const unlimited = (['connect', 'bind'] as const).reduce((rights, name) =>
    tcp[name] === 'any' ? rights | TCP_RIGHTS[name] : rights, 0)
  const portsOf = (name: 'connect' | 'bind') => {
    const ports = tcp[name]
    return ports === undefined || ports === 'any' ? [] : ports.map((port) => [port, TCP_RIGHTS[name]] as const)
  }
  return {
    governed: BY_ABI.map((governed) => ({ ...governed, tcp: governed.tcp & ~unlimited })),
    leastAbi,
    onFiles: ON_FILES,
    noLinks: files.noLinks === true,
    paths: levels.flatMap(([paths = [], rights]) => paths.map((path) => [path, rights] as const)),
    ports: [...portsOf('connect'), ...portsOf('bind')],
  }
}

/** The same rule set as on a kernel whose newest ABI is this one. */
export const limitedToAbi = (rules: RuleSet, abi: number): RuleSet =>
  ({ ...rules, governed: rules.governed.slice(0, abi), leastAbi: Math.min(rules.leastAbi, abi) })
