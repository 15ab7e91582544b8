import { BulkheadError, type CommandWall, type CompartmentTool, type Power, type UseRules } from '@bulkhead/contract'
import type { HostFolders } from '../fs/file-scope.ts'
import { UntrustedFolders } from '../process/executable.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import type { SpareLauncher } from '../walls/launcher.ts'
import { commandEnvironment, runsAnyCommand, type OperatorEnvironment } from './command-environment.ts'
import type { MissingSandboxReporter } from './command-sandbox.ts'
import { requireNetwork } from './ruled-command.ts'
import { Starter, SYSTEM_PATH } from './starter.ts'

export interface StarterOptions extends HostFolders {
  readonly workspace: string
  /** All tools of the compartment. Folders that any of them may write are untrusted for programs. */
  readonly tools: readonly Pick<CompartmentTool, 'grant'>[]
  /** Absolute folders where commands are searched. Also their PATH. */
  readonly path?: readonly string[]
  /** Kept of the head of each stream, in bytes. */
  readonly outputBytes?: number
  /** The folder of the project layer, which no command in a sandbox may write. */
  readonly projectLayer?: string | undefined
  /** Between SIGTERM and SIGKILL, in ms. */
  readonly graceMs?: number
  /** How long output may pause after a command has ended, while a process it started still holds its pipes, in ms. */
  readonly drainMs?: number
  /** Between two updates with output, in ms. */
  readonly updateMs?: number
  /** Replaces handles in arguments and input, and redacts output. */
  readonly secrets?: SecretsCapability | undefined
  /** For tools that may run every command. Absent: they get the restricted environment, too. */
  readonly operator?: OperatorEnvironment | undefined
  /** Called when commands run without a sandbox. */
  readonly missingSandbox?: MissingSandboxReporter | undefined
  /** Without a working sandbox no command runs. */
  readonly requiresSandbox?: boolean | undefined
  /** The code ships with the host and runs in its thread. */
  readonly isBundled?: boolean
}

/** Sessions with the same roots share a starter. */
export function startersOf(
  options: StarterOptions, spares: SpareLauncher,
): (tool: Pick<CompartmentTool, 'grant'>) => Starter {
  const { workspace, tools, secrets, operator, reserved, readOnly, storeFiles, layerName, projectLayer } = options
  const { missingSandbox, requiresSandbox, isBundled = false, path = SYSTEM_PATH } = options
  const { outputBytes = 200 * 1024, graceMs = 300, drainMs = 100, updateMs = 100 } = options
  const home = operator?.env.HOME
  const starterIn = (roots: readonly string[]): Starter => {
    const untrusted = new UntrustedFolders(
      [workspace, ...roots, ...tools.flatMap(({ grant }) => grant.fs.write)],
      [workspace, ...roots, ...tools.flatMap(({ grant }) => grant.fs.roots ?? [])],
    )
    const restricted = commandEnvironment({ path, env: {}, outputBytes }, home, untrusted)
    const operators = operator === undefined ? restricted : commandEnvironment(operator, home, untrusted)
    return new Starter({
      workspace, roots, untrusted, projectLayer, secrets, missingSandbox, requiresSandbox, graceMs, drainMs, updateMs,
      folders: { reserved, readOnly, storeFiles, layerName },
      home, spares,
      environmentOf: (tool) => runsAnyCommand(tool) ? operators : restricted,
      // Only what the host chose was shown to the person who allowed it.
      keysOf: ({ tool, wall }) => isBundled && runsAnyCommand(tool)
        ? (operator?.keys ?? []).filter(({ name }) => wall?.keys?.includes(name)) : [],
    })
  }
  // At once, so that a wrong path is known.
  const starters = new Map([['', starterIn([])]])
  return ({ grant: { fs: { commandRoots = [] } } }) =>
    starters.getOrInsertComputed(commandRoots.join('\0'), () => starterIn(commandRoots))
}

type Denials = Pick<UseRules, 'deniedPaths' | 'deniesHosts'>

/**
 * Why a command of a tool with this grant would not start behind this wall, because of what rules deny: the same checks
 * as at its start. undefined if it would start.
 */
export function commandRefusals(
  options: Omit<StarterOptions, 'tools'>, spares: SpareLauncher,
): (grant: Power, wall: CommandWall, denials: Denials) => Promise<BulkheadError | undefined> {
  const starterOf = startersOf({ ...options, tools: [] }, spares)
  return async (grant, { wall, hosts = [] }, { deniedPaths, deniesHosts }) => {
    try {
      requireNetwork(deniesHosts, { wall, hosts })
      await starterOf({ grant }).requireWall({ grant }, { wall, hosts }, deniedPaths)
      return undefined
    } catch (error) {
      // What else keeps it from starting is reported when it starts.
      return BulkheadError.is(error) && error.code === 'RuleDenied' ? error : undefined
    }
  }
}
