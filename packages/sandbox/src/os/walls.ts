import type { CommandWalls, MissingWall, Wall } from '@bulkhead/contract'
import type { OsLayers } from './os-layer.ts'
import type { OsMode } from './os-layers.ts'

const INSTALL = 'Install bubblewrap and util-linux and allow user namespaces'
const CURE = `${INSTALL}, or set sandbox.os to "require" to run nothing without a wall.`

/** The layers that this machine lacks for child processes and commands, as far as tried. Each is reported once. */
export class MissingLayers {
  readonly #found = new Map<'processes' | 'commands', MissingWall>()
  readonly #listeners: ((missing: MissingWall) => void)[] = []

  /** Contract: a listener must not throw. */
  watch(listener: (missing: MissingWall) => void): void {
    this.#listeners.push(listener)
    this.#found.values().forEach(listener)
  }

  /** Whether a command ran without a wall that it should have had. */
  get lacksCommandWall(): boolean {
    return this.#found.has('commands')
  }

  ofProcesses(layers: OsLayers, mode: OsMode): void {
    const message = mode === 'off' ? undefined : missingAround(layers)
    // The launcher satisfies "require", too.
    if (message !== undefined) this.#report('processes', message, layers.launcher.active ? `${INSTALL}.` : CURE)
  }

  ofCommands(): void {
    const message = 'Commands run without a sandbox, with all rights of this user, '
      + 'because neither bubblewrap nor Landlock works here.'
    this.#report('commands', message, CURE)
  }

  #report(around: 'processes' | 'commands', message: string, cure: string): void {
    if (this.#found.has(around)) return
    const missing = { message, cure }
    this.#found.set(around, missing)
    for (const listener of this.#listeners) listener(missing)
  }
}

function missingAround(layers: OsLayers): string | undefined {
  const { rlimits, bubblewrap, seccomp } = layers
  const missing = [
    ...(bubblewrap.active ? [] : [`bubblewrap (${bubblewrap.reason})`]),
    ...(seccomp.active ? [] : [`a seccomp filter${bubblewrap.active ? ` (${seccomp.reason})` : ''}`]),
    ...(rlimits.active ? [] : [`resource limits (${rlimits.reason})`]),
  ]
  if (missing.length === 0) return undefined
  return `Third-party tools run without ${missing.join(', ')}.${bubblewrap.active ? '' : ` ${instead(layers)}`}`
}

/** What replaces bubblewrap. */
function instead({ launcher, utilLinux }: OsLayers): string {
  if (launcher.active) {
    return 'Instead, the launcher keeps them from files, network, processes and privileges; '
      + 'names and sizes of files stay visible.'
  }
  if (!utilLinux.active) {
    return `Nothing replaces bubblewrap: neither the launcher (${launcher.reason}) nor setpriv (${utilLinux.reason}) works.`
  }
  const { setpriv, namespaces } = utilLinux
  const taken = setpriv.dropsCapabilities ? 'privileges' : 'the way to new privileges'
  const user = setpriv.isOtherUser || process.getuid?.() !== 0 ? '' : ' They still run as root.'
  return (namespaces.active
    ? `Instead, setpriv and unshare take away ${taken}, the network and other processes.`
    : `Instead, setpriv takes away ${taken}, but not the network and other processes (${namespaces.reason}).`) + user
}

const LAUNCHER_CURE = 'Use Linux 6.2 or newer with Landlock, on an x64 or arm64 machine.'
const BWRAP_CURE = 'Install bubblewrap, and allow user namespaces.'

/** What each layer gives, for people. */
export function wallsOf(layers: OsLayers, mode: OsMode, commands: CommandWalls, servers: JailState): readonly Wall[] {
  const { rlimits, bubblewrap, seccomp, launcher } = layers
  const isRequired = mode === 'require'
  const replaced = mode === 'off' || bubblewrap.active ? '' : ` ${instead(layers)}`
  return [
    // Every process is started with it, and older versions of Node are refused.
    { name: 'permission model', around: 'process', isRequired: true, stands: true, ...PERMISSION_MODEL },
    {
      name: 'prlimit', around: 'process', isRequired, ...stateOf(rlimits),
      cost: 'A third-party tool can use more memory than its limit until the host notices and ends it.',
      cure: 'Install util-linux.',
    },
    {
      name: 'bwrap', around: 'process', isRequired: isRequired && !launcher.active, ...stateOf(bubblewrap),
      cost: (launcher.active ? 'A third-party tool that breaks out of Node sees names and sizes of your files.'
        : 'A third-party tool that breaks out of Node has your files, network and processes.') + replaced,
      cure: BWRAP_CURE,
    },
    // Where bubblewrap stands, it is not needed.
    ...(bubblewrap.active ? [] : [{
      name: 'launcher', around: 'process' as const, isRequired, ...stateOf(launcher),
      cost: 'Nothing but Node itself keeps a third-party tool from your files.',
      cure: LAUNCHER_CURE,
    }]),
    {
      name: 'seccomp', around: 'process', isRequired: false, ...stateOf(seccomp),
      cost: 'A third-party tool that breaks out of Node can use every system call, also those of kernel exploits.',
      cure: bubblewrap.active ? 'Use an x64 or arm64 machine.' : 'It works as soon as bwrap or the launcher does.',
    },
    ...aroundCommands(commands, isRequired),
    ...aroundServers(servers),
  ]
}

/** What stands around local servers: why bubblewrap does not, and why Landlock does not. Absent: it stands. */
export interface JailState {
  readonly bubblewrap?: string | undefined
  readonly landlock?: string | undefined
}


function aroundCommands({ look, masks }: CommandWalls, isRequired: boolean): readonly Wall[] {
  const without = 'Commands run with all rights of this user, and only rules and approvals limit them.'
  const isMounted = masks === 'mount'
  const bubblewrap: Wall = {
    name: 'bwrap', around: 'commands', isRequired: isRequired && !look, stands: isMounted,
    ...(isMounted ? {} : { reason: 'it does not work for commands here' }),
    cost: look ? `Landlock confines commands instead. ${LESS}` : without, cure: BWRAP_CURE,
  }
  if (isMounted) return [bubblewrap]
  const reason = look ? {} : { reason: 'the kernel lacks it, or its trial failed' }
  return [bubblewrap, { name: 'launcher', around: 'commands', isRequired, stands: look, ...reason, cost: without, cure: LAUNCHER_CURE }]
}

const LESS = 'They see names and sizes of all files, have the whole network or none, and can write what other programs run.'

function aroundServers({ bubblewrap, landlock }: JailState): readonly Wall[] {
  const jail: Wall = {
    name: 'bwrap', around: 'servers', isRequired: false, ...standsUnless(bubblewrap),
    cost: landlock === undefined
      ? 'Landlock confines local servers without hosts instead. Those with hosts start only with "jail": "files" or false.'
      : 'Local servers start only with "jail": false, with all rights of this user.',
    cure: BWRAP_CURE,
  }
  if (bubblewrap === undefined) return [jail]
  return [jail, {
    name: 'launcher', around: 'servers', isRequired: false, ...standsUnless(landlock), cost: jail.cost, cure: LAUNCHER_CURE,
  }]
}

const standsUnless = (reason: string | undefined): Pick<Wall, 'stands' | 'reason'> =>
  reason === undefined ? { stands: true } : { stands: false, reason }

const PERMISSION_MODEL = {
  cost: 'A third-party tool could read files, start programs and use the network.', cure: 'Use Node 26 or newer.',
}

const stateOf = (layer: OsLayers[keyof OsLayers]): Pick<Wall, 'stands' | 'reason'> =>
  layer.active ? { stands: true } : { stands: false, reason: layer.reason }
