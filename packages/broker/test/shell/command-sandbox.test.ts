import { spawnSync } from 'node:child_process'
import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { Executables, UntrustedFolders } from '../../src/process/executable.ts'
import { CommandSandbox, type CommandSandboxOptions } from '../../src/shell/command-sandbox.ts'
import type { CommandWall } from '../../src/shell/wall-form.ts'
import { MissingLayers } from '../../../sandbox/src/os/walls.ts'
import { any, ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())
const NO_LAUNCHER = async () => ({ stands: false, reason: 'there is no Landlock' }) as const
const newSandbox = (workspace = setup.workspace): CommandSandbox => {
  const executables = new Executables([setup.bin, '/usr/bin', '/bin'], new UntrustedFolders([]))
  return new CommandSandbox({ workspace, executables, home: undefined, tryLauncher: NO_LAUNCHER })
}
const prefix = async (
  standing: CommandSandbox, wall: CommandWall, visible: readonly string[] = [],
): Promise<readonly string[]> => {
  const { argv, release } = await standing.prepare({ wall, visible })
  onTestFinished(release)
  return argv
}

it('is absent if neither bubblewrap nor Landlock works', async () => {
  setup.sh('bwrap', 'echo "bwrap: No permissions to create new namespace" >&2; exit 1')
  expect(await prefix(newSandbox(), 'look')).toEqual([])
})

it('is the launcher if only Landlock works', async () => {
  setup.sh('bwrap', 'exit 1')
  const executables = new Executables([setup.bin, '/usr/bin', '/bin'], new UntrustedFolders([]))
  const missing = { ofCommands: () => expect.unreachable() }
  const sandbox = new CommandSandbox({
    workspace: setup.workspace, executables, home: undefined, missingSandbox: missing,
    tryLauncher: async () => ({ stands: true, abi: 7, confinesSignals: true }), tryNetwork: async () => undefined,
  })
  const { argv, launch, release } = await sandbox.prepare({ wall: 'look' })
  onTestFinished(release)
  expect([argv, launch?.rules?.paths.some(([path]) => path === setup.workspace)]).toEqual([[], true])
  expect(await sandbox.walls()).toEqual({ look: true, work: true, network: false, masks: 'grants' })
})

it('a command that only looks has no network, whatever hosts are named', async () => {
  setup.sh('bwrap', 'exit 0')
  const argv = async (wall: CommandWall): Promise<readonly string[]> => {
    const prepared = await newSandbox().prepare({ wall, hosts: 'all' })
    onTestFinished(prepared.release)
    return prepared.argv
  }
  expect([await argv('look'), await argv('work')].map((args) => args.includes('--share-net'))).toEqual([false, true])
})

describe('a sandbox that does not work', () => {
  const lacking = (options: Partial<CommandSandboxOptions>): CommandSandbox => {
    setup.sh('bwrap', 'echo "bwrap: No permissions to create new namespace" >&2; exit 1')
    const executables = new Executables([setup.bin, '/usr/bin', '/bin'], new UntrustedFolders([]))
    return new CommandSandbox({
      workspace: setup.workspace, executables, home: undefined, tryLauncher: NO_LAUNCHER, ...options,
    })
  }

  it('is reported by the first command that needs it', async () => {
    const missing = new MissingLayers()
    const reported: string[] = []
    missing.watch(({ message }) => reported.push(message))
    const absent = lacking({ missingSandbox: missing })
    await absent.prepare({ wall: 'open' })
    expect(reported).toEqual([])
    for (const wall of ['look', 'work', 'look'] as const) await absent.prepare({ wall })
    expect(reported).toEqual([expect.stringMatching(/^Commands run without a sandbox/)])
  })

  it.each(['look', 'work', 'open'] as const)('rejects a command if it is required, for %s', async (wall) => {
    await expect(lacking({ requiresSandbox: true }).prepare({ wall }))
      .rejects.toMatchObject({ code: 'CapabilityUnavailable', data: { missing: ['bubblewrap', 'the launcher'] } })
  })

  it.each(['look', 'work', 'open'] as const)('is replaced by the launcher if it is required, for %s', async (wall) => {
    const tryLauncher = async () => ({ stands: true, abi: 7, confinesSignals: true }) as const
    const { launch, release } = await lacking({ requiresSandbox: true, tryLauncher }).prepare({ wall })
    onTestFinished(release)
    expect(launch !== undefined).toBe(wall !== 'open')
  })
})

it('runs a command without a sandbox if one is required and works', async () => {
  setup.sh('bwrap', 'exit 0')
  const executables = new Executables([setup.bin, '/usr/bin', '/bin'], new UntrustedFolders([]))
  expect((await new CommandSandbox(
    { workspace: setup.workspace, executables, home: undefined, requiresSandbox: true },
  ).prepare({ wall: 'open' })).argv).toEqual([])
})

it('is tried once in a process if it works, and by each host if it does not', async () => {
  const tries = join(setup.root, 'tries')
  const tried = async (code: number): Promise<number> => {
    setup.sh('bwrap', `echo >> '${tries}'; exit ${code}`)
    for (const standing of [newSandbox(), newSandbox()]) await prefix(standing, 'look')
    return readFileSync(tries, 'utf8').length
  }
  expect(await tried(1)).toBe(2)
  expect(await tried(0)).toBe(3)
  // Another folder of the same file system needs no trial, and another wall does.
  renameSync(setup.workspace, `${setup.workspace}-other`)
  const other = newSandbox(`${setup.workspace}-other`)
  expect(await prefix(other, 'look')).toContain(`${setup.workspace}-other`)
  expect(readFileSync(tries, 'utf8')).toHaveLength(3)
  await prefix(other, 'work')
  expect(readFileSync(tries, 'utf8')).toHaveLength(4)
  renameSync(`${setup.workspace}-other`, setup.workspace)
})

it('is tried again after a shortage of resources, and commands fail until then', async () => {
  const tried = join(setup.root, 'tried')
  const words = 'bwrap: Creating new namespace failed: Resource temporarily unavailable'
  const path = setup.sh('bwrap', `[ -e '${tried}' ] && exit 0; : > '${tried}'; echo '${words}' >&2; exit 1`)
  const tries = newSandbox()
  await expect(prefix(tries, 'look')).rejects.toMatchObject({ code: 'ResourceBusy' })
  expect((await prefix(tries, 'look'))[0]).toBe(path)
})

it('is tried again if the workspace was missing', async () => {
  const path = setup.sh('bwrap', 'exit 0')
  const lasting = newSandbox()
  renameSync(setup.workspace, `${setup.workspace}-moved`)
  await expect(prefix(lasting, 'look')).rejects.toMatchObject({ code: 'NotFound' })
  renameSync(`${setup.workspace}-moved`, setup.workspace)
  expect((await prefix(lasting, 'look'))[0]).toBe(path)
})

it('hides session sockets from a command that sees the folders around them', async () => {
  setup.sh('bwrap', 'exit 0')
  const servants = ['/run/user', '/run/dbus', '/run/systemd/private', '/tmp/.X11-unix', '/tmp/.ICE-unix'].filter(
    (path) => existsSync(path),
  )
  const hidden = async (kind: 'look' | 'work') => {
    const args = await prefix(newSandbox(), kind, ['/run', '/tmp'])
    return servants.filter((path) =>
      args.some((arg, at) => arg === path && ['--tmpfs', '/dev/null'].includes(args[at - 1]!)))
  }
  expect([await hidden('look'), await hidden('work')]).toEqual([servants, servants])
})

describe('credentials in a home folder', () => {
  /** A home folder with a credential of each kind: file, folder and link. */
  function homeAt(home: string): string {
    const elsewhere = join(setup.root, 'elsewhere')
    for (const folder of [elsewhere, join(home, '.gnupg')]) mkdirSync(folder, { recursive: true })
    for (const file of [
      join(elsewhere, 'key'), join(home, '.gnupg/key'), join(home, '.netrc'), join(home, '.aws'),
    ]) writeFileSync(file, 'secret')
    symlinkSync(elsewhere, join(home, '.ssh'))
    return realpathSync(home)
  }
  const CREDENTIALS = ['.ssh/key', '.gnupg/key', '.netrc', '.aws']
  /** The home is visible, because the operator named it. */
  const prefixOf = async (home: string, workspace: string, path: readonly string[]): Promise<readonly string[]> => {
    const executables = new Executables(path, new UntrustedFolders([]))
    return prefix(new CommandSandbox({ workspace, home, executables }), 'look', [setup.root, home])
  }

  it.each([
    'a home', 'a home that is the workspace',
  ])('of %s are hidden, behind links and of unusual kinds too', needs('bubblewrap'), async (which) => {
    const home = homeAt(which === 'a home' ? join(setup.root, 'home') : setup.workspace)
    const [bwrap, ...args] = await prefixOf(home, setup.workspace, ['/usr/bin', '/bin'])
    const paths = CREDENTIALS.map((key) => join(home, key))
    expect(spawnSync('/bin/cat', paths, { encoding: 'utf8' }).stdout).toBe('secret'.repeat(4))
    expect(spawnSync(bwrap!, [...args, '/bin/cat', ...paths], { encoding: 'utf8' }).stdout).toBe('')
  })

  it('are looked up before each command, because they change while the host runs', async () => {
    setup.sh('bwrap', 'exit 0')
    const home = join(setup.root, 'home')
    mkdirSync(join(home, '.ssh'), { recursive: true })
    const lasting = new CommandSandbox({
      workspace: setup.workspace, home,
      executables: new Executables([setup.bin, '/usr/bin', '/bin'], new UntrustedFolders([])),
    })
    const hidden = async () => {
      const args = await prefix(lasting, 'look', [home])
      return args.filter((arg, at) => arg.startsWith(`${home}/`) && args[at - 1] === '--tmpfs')
    }
    expect(await hidden()).toEqual([join(home, '.ssh')])
    mkdirSync(join(home, '.aws'))
    rmSync(join(home, '.ssh'), { recursive: true })
    expect(await hidden()).toEqual([join(home, '.aws')])
  })

  it('include all usual files with credentials', async () => {
    setup.sh('bwrap', 'exit 0')
    const home = realpathSync(setup.root)
    mkdirSync(join(home, '.config'))
    const kept = [
      '.aws', '.azure', '.bash_history', '.config/gcloud', '.config/gh', '.docker', '.git-credentials', '.gnupg',
      '.kube', '.mozilla', '.netrc',
      '.npmrc', '.password-store', '.pgpass', '.pypirc', '.ssh', '.zsh_history',
    ].map((name) => join(home, name))
    for (const path of kept) writeFileSync(path, 'secret')
    const args = await prefixOf(home, setup.workspace, [setup.bin, '/usr/bin', '/bin'])
    expect(args.filter((_arg, index) => args[index - 1] === '/dev/null').filter((arg) => arg.startsWith(home))
      .toSorted())
      .toEqual(kept)
  })
})

it('holds the folders above a store, without uncovering credentials there', async () => {
  setup.sh('bwrap', 'exit 0')
  const workspace = realpathSync(setup.workspace)
  const home = join(workspace, 'homes/me')
  mkdirSync(join(home, '.ssh'), { recursive: true })
  for (const name of ['a.db', 'a.db-wal', 'a.dbs']) writeFileSync(join(home, name), '')
  const sandbox = new CommandSandbox({
    workspace, home, executables: new Executables([setup.bin, '/usr/bin', '/bin'], new UntrustedFolders([])),
    folders: { storeFiles: [join(home, 'a.db'), join(home, 'a.db-')] },
  })
  const mounts = (await prefix(sandbox, 'work'))
    .join(' ')
    .match(/--(?:bind|tmpfs|ro-bind-try) \/\S+/g)!
    .filter((mount) => mount.includes(workspace))
  expect(mounts).toEqual([
    ...[workspace, join(workspace, 'homes'), home].map((path) => `--bind ${path}`), `--tmpfs ${join(home, '.ssh')}`,
    ...['a.db', 'a.db-wal'].map((name) => `--ro-bind-try ${join(home, name)}`),
  ])
})

describe('the project layer', needs('bubblewrap'), () => {
  const real = { path: ['/usr/bin', '/bin'] }
  const layer = (): string => join(setup.workspace, '.bulkhead')
  const open = () => {
    const { shell, capability } = setup.open({ shell: any('sh') }, { ...real, projectLayer: layer() })
    return { capability, sh: (script: string) => shell.pipe([{ cmd: 'sh', args: ['-c', script] }], { wall: 'work' }) }
  }

  it('cannot be written or moved by a command in the sandbox', async () => {
    mkdirSync(layer())
    writeFileSync(join(layer(), 'config.json'), 'mine')
    const { exits } = await open().sh(
      'echo theirs > .bulkhead/config.json; rm -rf .bulkhead; mv .bulkhead other; mkdir .bulkhead/tools; cat '
        + '.bulkhead/config.json > seen; test -d .bulkhead/tools',
    )
    expect(exits).toMatchObject([{ exitCode: 1 }])
    expect(readFileSync(join(layer(), 'config.json'), 'utf8')).toBe('mine')
    expect(readdirSync(setup.workspace).toSorted()).toEqual(['.bulkhead', 'seen'])
    expect(readFileSync(join(setup.workspace, 'seen'), 'utf8')).toBe('mine')
  })

  it('cannot be created by a command in the sandbox, and leaves no empty folder behind', async () => {
    const make = 'mkdir -p .bulkhead/tools; rmdir .bulkhead; echo x > .bulkhead/config.json; mv .bulkhead a; ln -s a '
      + '.bulkhead; ls -A .bulkhead'
    const { sh, capability } = open()
    const results = await Promise.all([sh(make), sh(make), sh('exit 3'), sh('kill -9 $$')])
    expect(results.map(({ stdout }) => stdout)).toEqual(['', '', '', ''])
    await capability.close()
    expect(readdirSync(setup.workspace)).toEqual([])
  })

  it('stays if a file was created in it meanwhile', async () => {
    const { sh, capability } = open()
    const running = sh('until test -e go; do sleep 0.02; done')
    await expect.poll(() => existsSync(layer()), { interval: 5 }).toBe(true)
    chmodSync(layer(), 0o700)
    writeFileSync(join(layer(), 'config.json'), 'mine')
    chmodSync(layer(), 0)
    writeFileSync(join(setup.workspace, 'go'), '')
    await running
    await capability.close()
    expect(readFileSync(join(layer(), 'config.json'), 'utf8')).toBe('mine')
    expect(statSync(layer()).mode & 0o700).toBe(0o700)
  })

  it('is removed by the next command if a killed host left it without permissions', async () => {
    mkdirSync(layer(), 0)
    const { sh, capability } = open()
    await sh('mkdir .bulkhead/tools')
    await capability.close()
    expect(existsSync(layer())).toBe(false)
  })
})
