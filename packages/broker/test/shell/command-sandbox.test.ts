import { spawnSync } from 'node:child_process'
import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { Executables, UntrustedFolders } from '../../src/process/executable.ts'
import { CommandSandbox, type SandboxKind, type CommandSandboxOptions } from '../../src/shell/command-sandbox.ts'
import { MissingWalls } from '../../../sandbox/src/os/missing-walls.ts'
import { any, ShellGround } from './shell-ground.ts'

let ground = new ShellGround()
beforeEach(async () => {
  await ground.clear()
  ground = new ShellGround()
})
afterAll(() => ground.clear())
const wall = (): CommandSandbox => {
  const executables = new Executables([ground.bin, '/usr/bin', '/bin'], new UntrustedFolders([]))
  return new CommandSandbox({ workspace: ground.workspace, executables, home: undefined })
}
const prefix = async (standing: CommandSandbox, kind: SandboxKind): Promise<readonly string[]> => (await standing.prepare(kind)).argv

it('that does not work here is none', async () => {
  ground.sh('bwrap', 'echo "bwrap: No permissions to create new namespace" >&2; exit 1')
  expect(await prefix(wall(), 'read')).toEqual([])
})

describe('that does not work here', () => {
  const lacking = (options: Partial<CommandSandboxOptions>): CommandSandbox => {
    ground.sh('bwrap', 'echo "bwrap: No permissions to create new namespace" >&2; exit 1')
    const executables = new Executables([ground.bin, '/usr/bin', '/bin'], new UntrustedFolders([]))
    return new CommandSandbox({ workspace: ground.workspace, executables, home: undefined, ...options })
  }

  it('is reported once, by the first command that should have had one', async () => {
    const walls = new MissingWalls()
    const reported: string[] = []
    walls.watch(({ message }) => reported.push(message))
    const absent = lacking({ missingSandbox: walls })
    await absent.prepare(undefined)
    expect(reported).toEqual([])
    for (const kind of ['read', 'work', 'read'] as const) await absent.prepare(kind)
    expect(reported).toEqual([expect.stringMatching(/^Commands run without a sandbox/)])
  })

  it.each(['read', 'work', undefined] as const)('refuses a command where it is required, for %s', async (kind) => {
    await expect(lacking({ requiresSandbox: true }).prepare(kind)).rejects.toMatchObject({ code: 'CapabilityUnavailable', data: { missing: ['bubblewrap'] } })
  })
})

it('that is required and works lets a command without one run as before', async () => {
  ground.sh('bwrap', 'exit 0')
  const executables = new Executables([ground.bin, '/usr/bin', '/bin'], new UntrustedFolders([]))
  expect((await new CommandSandbox({ workspace: ground.workspace, executables, home: undefined, requiresSandbox: true }).prepare(undefined)).argv).toEqual([])
})

it('that cannot be tried during a shortage is tried again, and commands fail until then', async () => {
  const tried = join(ground.root, 'tried')
  const words = 'bwrap: Creating new namespace failed: Resource temporarily unavailable'
  const path = ground.sh('bwrap', `[ -e '${tried}' ] && exit 0; : > '${tried}'; echo '${words}' >&2; exit 1`)
  const tries = wall()
  await expect(prefix(tries, 'read')).rejects.toMatchObject({ code: 'ResourceBusy' })
  expect((await prefix(tries, 'read'))[0]).toBe(path)
})

it('is not ruled out because the workspace is missing for a moment', async () => {
  const path = ground.sh('bwrap', 'exit 0')
  const lasting = wall()
  renameSync(ground.workspace, `${ground.workspace}-moved`)
  await expect(prefix(lasting, 'read')).rejects.toMatchObject({ code: 'NotFound' })
  renameSync(`${ground.workspace}-moved`, ground.workspace)
  expect((await prefix(lasting, 'read'))[0]).toBe(path)
})

it('around a read-only command gives it no helper that would write or start something', async () => {
  ground.sh('bwrap', 'exit 0')
  const servants = ['/run/user', '/run/dbus', '/run/systemd/private', '/tmp/.X11-unix', '/tmp/.ICE-unix'].filter((path) => existsSync(path))
  const hidden = async (kind: 'read' | 'work') => {
    const args = await prefix(wall(), kind)
    return servants.filter((path) => args.some((arg, at) => arg === path && ['--tmpfs', '/dev/null'].includes(args[at - 1]!)))
  }
  expect([await hidden('read'), await hidden('work')]).toEqual([servants, []])
})

describe('keys in a home', () => {
  /** A home with a key in it by each of the ways there are. */
  function homeAt(home: string): string {
    const elsewhere = join(ground.root, 'elsewhere')
    for (const folder of [elsewhere, join(home, '.gnupg')]) mkdirSync(folder, { recursive: true })
    for (const file of [join(elsewhere, 'key'), join(home, '.gnupg/key'), join(home, '.netrc'), join(home, '.aws')]) writeFileSync(file, 'secret')
    symlinkSync(elsewhere, join(home, '.ssh'))
    return realpathSync(home)
  }
  const CREDENTIALS = ['.ssh/key', '.gnupg/key', '.netrc', '.aws']
  const prefixOf = async (home: string, workspace: string, path: readonly string[]): Promise<readonly string[]> =>
    await prefix(new CommandSandbox({ workspace, home, executables: new Executables(path, new UntrustedFolders([])) }), 'read')

  it.each(['a home', 'a home that is the workspace'])('of %s are behind it, linked or of another kind than usual', async (which) => {
    const home = homeAt(which === 'a home' ? join(ground.root, 'home') : ground.workspace)
    const walls = ['/nowhere', home].map((each) => prefixOf(each, ground.workspace, ['/usr/bin', '/bin']))
    const [plain, [bwrap, ...args]] = await Promise.all(walls) as [readonly string[], readonly string[]]
    // A machine may have no such sandbox; what would be asked of it is looked at below.
    if (plain.length === 0) return
    const read = CREDENTIALS.map((key) => spawnSync(bwrap!, [...args, '/bin/cat', join(home, key)], { encoding: 'utf8' }).stdout)
    expect(read).toEqual(['', '', '', ''])
  })

  it('are looked for before each command: some are made while a host runs, and some are taken away', async () => {
    ground.sh('bwrap', 'exit 0')
    const home = join(ground.root, 'home')
    mkdirSync(join(home, '.ssh'), { recursive: true })
    const lasting = new CommandSandbox({ workspace: ground.workspace, home, executables: new Executables([ground.bin, '/usr/bin', '/bin'], new UntrustedFolders([])) })
    const hidden = async () => (await prefix(lasting, 'read')).filter((arg) => arg.startsWith(realpathSync(home)))
    expect(await hidden()).toEqual([join(realpathSync(home), '.ssh')])
    mkdirSync(join(home, '.aws'))
    rmSync(join(home, '.ssh'), { recursive: true })
    expect(await hidden()).toEqual([join(realpathSync(home), '.aws')])
  })

  it('are covered by their own place, a folder by an empty one and a file by nothing, those in the workspace after it', async () => {
    ground.sh('bwrap', 'exit 0')
    const own = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc']
    const workspace = realpathSync(ground.workspace)
    const elsewhere = ['--tmpfs', join(realpathSync(ground.root), 'elsewhere')]
    const covers = (home: string) => ['--tmpfs', join(home, '.gnupg'), '--ro-bind', '/dev/null', join(home, '.aws'), '--ro-bind', '/dev/null', join(home, '.netrc')]
    const seen = async (home: string) => (await prefixOf(home, ground.workspace, [ground.bin, '/usr/bin', '/bin'])).slice(1, -1)
      .join(' ').replace(/ (?:--ro-bind \/dev\/null|--tmpfs) (?:\/run\/|\/tmp\/\.)\S+/g, '').split(' ')
    const away = homeAt(join(ground.root, 'home'))
    expect(await seen(away)).toEqual([...own, ...elsewhere, ...covers(away), '--ro-bind', workspace, workspace])
    expect(await seen(homeAt(ground.workspace))).toEqual([...own, ...elsewhere, '--ro-bind', workspace, workspace, ...covers(workspace)])
  })

  it('are all that people keep there to open other doors with', async () => {
    ground.sh('bwrap', 'exit 0')
    const home = realpathSync(ground.root)
    mkdirSync(join(home, '.config'))
    const kept = [
      '.aws', '.azure', '.bash_history', '.config/gcloud', '.config/gh', '.docker', '.git-credentials', '.gnupg', '.kube', '.mozilla', '.netrc',
      '.npmrc', '.password-store', '.pgpass', '.pypirc', '.ssh', '.zsh_history',
    ].map((name) => join(home, name))
    for (const path of kept) writeFileSync(path, 'secret')
    const args = await prefixOf(home, ground.workspace, [ground.bin, '/usr/bin', '/bin'])
    expect(args.filter((_arg, index) => args[index - 1] === '/dev/null').filter((arg) => arg.startsWith(home)).toSorted()).toEqual(kept)
  })
})

describe('the project layer', () => {
  const real = { path: ['/usr/bin', '/bin'] }
  /** Whether this machine has such a sandbox at all. */
  const stands = async (): Promise<boolean> =>
    (await prefix(new CommandSandbox({ workspace: ground.workspace, home: undefined, executables: new Executables(real.path, new UntrustedFolders([])) }), 'work')).length > 0
  const layer = (): string => join(ground.workspace, '.bulkhead')
  const open = () => {
    const { shell, capability } = ground.open({ shell: any('sh') }, { ...real, projectLayer: layer() })
    return { capability, sh: (script: string) => shell.pipe([{ cmd: 'sh', args: ['-c', script] }], { wall: 'work' }) }
  }

  it('cannot be written or moved by a command in the sandbox', async () => {
    mkdirSync(layer())
    writeFileSync(join(layer(), 'config.json'), 'mine')
    if (!await stands()) return
    const { exits } = await open().sh('echo theirs > .bulkhead/config.json; rm -rf .bulkhead; mv .bulkhead other; mkdir .bulkhead/tools; cat .bulkhead/config.json > seen; test -d .bulkhead/tools')
    expect(exits).toMatchObject([{ exitCode: 1 }])
    expect(readFileSync(join(layer(), 'config.json'), 'utf8')).toBe('mine')
    expect(readdirSync(ground.workspace).toSorted()).toEqual(['.bulkhead', 'seen'])
    expect(readFileSync(join(ground.workspace, 'seen'), 'utf8')).toBe('mine')
  })

  it('is not made by a command inside a wall, and no empty folder stays behind, however many run', async () => {
    if (!await stands()) return
    const make = 'mkdir -p .bulkhead/tools; rmdir .bulkhead; echo x > .bulkhead/config.json; mv .bulkhead a; ln -s a .bulkhead; ls -A .bulkhead'
    const { sh, capability } = open()
    const results = await Promise.all([sh(make), sh(make), sh('exit 3'), sh('kill -9 $$')])
    expect(results.map(({ stdout }) => stdout)).toEqual(['', '', '', ''])
    await capability.close()
    expect(readdirSync(ground.workspace)).toEqual([])
  })

  it('that somebody made meanwhile stays', async () => {
    if (!await stands()) return
    const { sh, capability } = open()
    const running = sh('until test -e go; do :; done')
    while (!existsSync(layer())) await new Promise((resolve) => setImmediate(resolve))
    chmodSync(layer(), 0o700)
    writeFileSync(join(layer(), 'config.json'), 'mine')
    chmodSync(layer(), 0)
    writeFileSync(join(ground.workspace, 'go'), '')
    await running
    await capability.close()
    expect(readFileSync(join(layer(), 'config.json'), 'utf8')).toBe('mine')
    expect(statSync(layer()).mode & 0o700).toBe(0o700)
  })

  it('that a killed host left without rights goes with the next command', async () => {
    if (!await stands()) return
    mkdirSync(layer(), 0)
    const { sh, capability } = open()
    await sh('mkdir .bulkhead/tools')
    await capability.close()
    expect(existsSync(layer())).toBe(false)
  })
})
