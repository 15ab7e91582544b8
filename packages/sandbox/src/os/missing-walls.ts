import type { MissingWall } from '@bulkhead/contract'
import type { OsLayers } from './os-layer.ts'
import type { OsMode } from './os-layers.ts'

const CURE = 'Install bubblewrap and util-linux and allow user namespaces, or set sandbox.os to "require" to run nothing without them.'

/** The layers that this machine lacks for child processes and commands, as far as tried. Each is reported once. */
export class MissingWalls {
  readonly #found = new Map<'processes' | 'commands', MissingWall>()
  readonly #listeners: ((missing: MissingWall) => void)[] = []

  /** Contract: a listener must not throw. */
  watch(listener: (missing: MissingWall) => void): void {
    this.#listeners.push(listener)
    this.#found.values().forEach(listener)
  }

  ofProcesses(layers: OsLayers, mode: OsMode): void {
    const message = mode === 'off' ? undefined : missingAround(layers)
    if (message !== undefined) this.#report('processes', message)
  }

  ofCommands(): void {
    this.#report('commands', 'Commands run without a sandbox, with all rights of this user, because bubblewrap does not work here.')
  }

  #report(around: 'processes' | 'commands', message: string): void {
    if (this.#found.has(around)) return
    const missing = { message, cure: CURE }
    this.#found.set(around, missing)
    for (const listener of this.#listeners) listener(missing)
  }
}

function missingAround({ rlimits, bubblewrap, seccomp, utilLinux }: OsLayers): string | undefined {
  const missing = [
    ...(bubblewrap.active ? [] : [`bubblewrap (${bubblewrap.reason})`]),
    ...(seccomp.active ? [] : [`a seccomp filter${bubblewrap.active ? ` (${seccomp.reason})` : ''}`]),
    ...(rlimits.active ? [] : [`resource limits (${rlimits.reason})`]),
  ]
  if (missing.length === 0) return undefined
  return `Third-party tools run without ${missing.join(', ')}.${bubblewrap.active ? '' : ` ${instead(utilLinux)}`}`
}

function instead(utilLinux: OsLayers['utilLinux']): string {
  if (!utilLinux.active) return `Nothing replaces bubblewrap: setpriv does not work (${utilLinux.reason}).`
  const { setpriv, namespaces } = utilLinux
  const taken = setpriv.dropsCapabilities ? 'privileges' : 'the way to new privileges'
  const user = setpriv.isOtherUser || process.getuid?.() !== 0 ? '' : ' They still run as root.'
  return (namespaces.active
    ? `Instead, setpriv and unshare take away ${taken}, the network and other processes.`
    : `Instead, setpriv takes away ${taken}, but not the network and other processes (${namespaces.reason}).`) + user
}
