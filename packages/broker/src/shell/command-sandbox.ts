import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BulkheadError, type CommandWalls, type DeniedPaths } from '@bulkhead/contract'
import { isOfSystem } from '@bulkhead/kit/programs'
import { withFileErrors } from '../fs/file-errors.ts'
import { proxyVariables, RELAY_INSIDE, relayCode } from '../net/inner-relay.ts'
import { RELAY_SOCKET } from '../net/relay.ts'
import { startError } from '../process/spawn.ts'
import { ownNetwork, RELAY_URL, type OwnNetwork } from '../walls/own-network.ts'
import { BubblewrapWall, requireMountable, type BubblewrapOptions } from './bubblewrap-wall.ts'
import { openCommandRelay, type CommandKeys, type CommandRelay } from './command-relay.ts'
import { lookWall, type WallTrial } from '../walls/trial.ts'
import type { Grants } from '../walls/grants.ts'
import { findDenied, notHidden } from './denied-places.ts'
import { GitSettings } from './git-settings.ts'
import { launcherGrants, launcherWall } from './launcher-wall.ts'
import { openPrivateFolder, type PrivateFolder } from './private-folder.ts'
import { NO_SANDBOX, type CommandWall, type SandboxPrefix, type WallForm } from './wall-form.ts'

/** Masks have the size and the age of what they hide, to the second. */
const SEES_NO_MASKS = '[core]\n\tcheckStat = minimal\n'

/** Reports that commands run without a sandbox. */
export interface MissingSandboxReporter {
  ofCommands(): void
}

export interface CommandSandboxOptions extends BubblewrapOptions {
  readonly workspace: string
  /** Folders beside the workspace that commands may write. Default: none. */
  readonly roots?: readonly string[]
  /** Whether the launcher's wall stands here. Default: tried. */
  readonly tryLauncher?: () => Promise<WallTrial>
  /** How the launcher gets a network of its own. Default: tried. */
  readonly tryNetwork?: () => Promise<OwnNetwork | undefined>
  /** Called when a command runs without the sandbox it should have. */
  readonly missingSandbox?: MissingSandboxReporter | undefined
  /** Without a working sandbox no command runs, not even one that needs none. */
  readonly requiresSandbox?: boolean | undefined
}

export interface WallRequest {
  readonly wall: CommandWall
  /** Without a network, and without folders except the workspace and those of the system's programs. */
  readonly isolated?: boolean
  /** What a command sees besides the workspace and the system, unless it is isolated. */
  readonly visible?: readonly string[]
  /** What a command may reach behind the wall `work`. Default: nothing. */
  readonly hosts?: readonly string[] | 'all'
  /** Each must cover a host, too. */
  readonly hostCeilings?: readonly (readonly string[])[]
  /** Keys for granted hosts. Without a relay they have no effect. */
  readonly keys?: CommandKeys | undefined
  /** What rules deny. A wall hides what of it exists now; without a wall that can, the command does not run. */
  readonly denied?: DeniedPaths | undefined
  /** Why rules do not let it reach a host, as the subject of a sentence. */
  readonly deniedHost?: ((host: string) => string | undefined) | undefined
}

/** The wall around one command. */
interface ChosenWall {
  readonly form: WallForm
  /** Whether the wall is of mounts. */
  readonly hasMounts: boolean
  /** Set if the launcher is the wall. */
  readonly launched: { readonly confinesSignals: boolean; readonly grants: Grants } | undefined
}

/** Runs commands behind a wall, where one stands. */
export class CommandSandbox {
  readonly #options: CommandSandboxOptions
  readonly #bubblewrap: BubblewrapWall
  readonly #tryLauncher: () => Promise<WallTrial>
  readonly #tryNetwork: () => Promise<OwnNetwork | undefined>
  readonly #git: GitSettings | undefined

  constructor(options: CommandSandboxOptions) {
    const { executables, home } = options
    this.#options = options
    this.#bubblewrap = new BubblewrapWall(options)
    this.#tryLauncher = options.tryLauncher ?? lookWall
    this.#tryNetwork = options.tryNetwork ?? ownNetwork
    this.#git = home === undefined ? undefined : new GitSettings(executables, home)
  }

  /**
   * For `open`, or where no wall stands, the prefix is empty. Rejects with ResourceBusy during a shortage of resources,
   * with CapabilityUnavailable if a sandbox is required and none works, or if too much would have to be hidden, and with
   * RuleDenied if rules deny files that no wall here can hide.
   */
  async prepare(request: WallRequest): Promise<SandboxPrefix> {
    const { wall, hostCeilings, keys, deniedHost } = request
    const chosen = await this.choose(request)
    if (chosen === undefined || wall === 'open') return NO_SANDBOX
    const { form, hasMounts, launched } = chosen
    if (!hasMounts && !launched) {
      this.#options.missingSandbox?.ofCommands()
      return NO_SANDBOX
    }
    const relayed = relayedHosts(request)
    const opened: (() => Promise<void>)[] = []
    const release = async (): Promise<void> => void await Promise.all(opened.map((close) => close()))
    try {
      const folder = await openPrivateFolder(await this.#gitSettings(form))
      opened.push(folder.remove)
      const network = relayed && launched ? await this.#ownNetwork() : undefined
      const relay = relayed && (hasMounts || network) ? await openCommandRelay(relayed, { ceilings: hostCeilings, keys, deniedHost }) : undefined
      if (relay !== undefined) opened.push(relay.close)
      if (launched) {
        const prefix = { ...this.#launchedPrefix(form, folder, launched, relay), denied: form.denied }
        if (!network || !relay || !relayed) return { ...prefix, release }
        const variables = {
          ...prefix.variables, ...proxyVariables(RELAY_URL, relayed), ...relay.variables(relay.folder),
        }
        const socket = join(relay.folder, RELAY_SOCKET)
        return {
          ...prefix, variables, refused: relay.refused, release,
          network: (descriptors, command) => network(socket, descriptors, command),
        }
      }
      const walled = await this.#bubblewrap.around(form, { folder, relay: relay?.folder })
      opened.push(walled.release)
      return {
        ...walled, denied: form.denied, ...(relay && { relay: relay.command, refused: relay.refused, variables: relay.variables(RELAY_INSIDE) }),
        release,
      }
    } catch (error) {
      await release()
      throw error
    }
  }

  /**
   * The wall around a command; undefined if it needs no wall. Rejects as `prepare` does, and changes nothing, so that
   * it is known before the call whether a command starts.
   */
  async choose(request: WallRequest): Promise<ChosenWall | undefined> {
    const { wall, isolated = false, visible = [], hosts = [], denied } = request
    const { workspace, roots: others = [], requiresSandbox = false } = this.#options
    if (wall === 'open' && denied?.rule !== undefined) throw notHidden(denied.rule, 'the command would run without a wall')
    if (wall === 'open' && !requiresSandbox) return undefined
    const roots = await Promise.all([workspace, ...others].map((folder) =>
      withFileErrors(folder === workspace ? '.' : folder, () => realpath(folder))))
    const form: WallForm = {
      wall: wall === 'open' ? 'work' : wall, isolated, roots,
      isConnected: wall !== 'look' && !isolated && hosts === 'all',
      visible: relayedHosts(request) ? [...visible, ...relayCode()] : visible, denied: await findDenied(roots, denied),
    }
    const hasMounts = await this.#bubblewrap.stands(form)
    const launcher = hasMounts ? undefined : await this.#launcher()
    const stands = hasMounts || launcher?.stands === true
    if (!stands && requiresSandbox) throw unavailable()
    if (!stands && denied?.rule !== undefined) throw notHidden(denied.rule, 'no wall stands around commands on this machine')
    if (hasMounts) requireMountable(form)
    if (!launcher?.stands || wall === 'open') return { form, hasMounts, launched: undefined }
    requireGrantable(form)
    const { confinesSignals } = launcher
    return { form, hasMounts, launched: { confinesSignals, grants: await launcherGrants(form, this.#options) } }
  }

  /** Without a network of its own, a command has the whole network or none. */
  #launchedPrefix(
    form: WallForm, folder: PrivateFolder, { confinesSignals, grants }: NonNullable<ChosenWall['launched']>,
    relay: CommandRelay | undefined,
  ): SandboxPrefix {
    const ofGit = {
      // Folders above could not be opened, which git takes for a damaged repository.
      GIT_CEILING_DIRECTORIES: form.roots.map((root) => dirname(root)).join(':'),
      // Bubblewrap hides the settings of the system. Here git would find them, and end because it may not read them.
      ...(form.isolated && { GIT_CONFIG_NOSYSTEM: '1' }),
    }
    const launch = launcherWall(
      relay ? { ...form, isConnected: true } : form, { folder, relay: relay?.hasKeys ? relay.folder : undefined },
      grants, confinesSignals,
    )
    return { ...NO_SANDBOX, launch, variables: { ...folder.variables, ...ofGit } }
  }

  /** Tried as before the first command of each kind. */
  async walls(): Promise<CommandWalls> {
    const roots = [await realpath(this.#options.workspace)]
    const forms = (['look', 'work'] as const).flatMap((wall) => [true, false].map((isolated): WallForm =>
      ({ wall, isolated, roots, visible: [], isConnected: false })))
    const hasMounts = (await Promise.all(forms.map((form) => this.#bubblewrap.stands(form)))).every((each) => each)
    if (hasMounts) return { look: true, work: true, network: true, masks: 'mount' }
    const { stands } = await this.#launcher()
    const network = stands && await this.#ownNetwork() !== undefined
    return { look: stands, work: stands, network, masks: stands ? 'grants' : 'none' }
  }

  #ownNetwork(): Promise<OwnNetwork | undefined> {
    return this.#tryNetwork().catch((error: unknown) => {
      throw startError(error)
    })
  }

  #launcher(): Promise<WallTrial> {
    return this.#tryLauncher().catch((error: unknown) => {
      const isBusy = BulkheadError.is(error) && error.code === 'NoPlaceFree'
      throw isBusy ? new BulkheadError('ResourceBusy', error.message, { cause: error }) : error
    })
  }

  async #gitSettings({ wall }: WallForm): Promise<string> {
    const ofUser = await this.#git?.read() ?? ''
    return wall === 'look' ? ofUser + SEES_NO_MASKS : ofUser
  }
}

/** The hosts that a relay leads to. */
const relayedHosts = ({ wall, isolated = false, hosts = [] }: WallRequest): readonly string[] | undefined =>
  wall === 'work' && !isolated && hosts !== 'all' && hosts.length > 0 ? hosts : undefined

/** The launcher grants the entries beside a denied one. New ones could not be created there. */
function requireGrantable({ wall, denied = [] }: WallForm): void {
  const ofSystem = denied.find(({ path, isElsewhere }) => isElsewhere && isOfSystem(path))
  if (ofSystem) throw notHidden(ofSystem.rule, `without bubblewrap a command cannot be kept from "${ofSystem.path}"`)
  const place = wall === 'work' ? denied.find(({ isElsewhere }) => !isElsewhere) : undefined
  if (place) throw notHidden(place.rule, `without bubblewrap a command that writes cannot be kept from "${place.path}"`)
}

const unavailable = (): BulkheadError => new BulkheadError(
  'CapabilityUnavailable',
  'The command was not run: sandbox.os is "require", and neither bubblewrap nor the launcher works here. '
    + 'Install bubblewrap and allow user namespaces, or set sandbox.os to "auto".',
  { data: { missing: ['bubblewrap', 'the launcher'] } },
)
