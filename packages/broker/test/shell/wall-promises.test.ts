import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import {
  copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import type { PipeOptions } from '@bulkhead/contract'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { has, needs, WALLS } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { ownNetwork } from '../../src/walls/own-network.ts'
import { commandWalls } from '../../src/shell/starter.ts'
import type { ShellOptions } from '../../src/shell/shell.ts'
import { ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

const PATH = [dirname(realpathSync(process.execPath)), '/usr/bin', '/bin']
const run = (script: string, options: PipeOptions, given: Partial<ShellOptions> = {}) =>
  setup.open(setup.everything(), { path: PATH, ...given }).shell.pipe([{ cmd: 'sh', args: ['-c', script] }], options)

async function listening(server: Server, ...at: readonly (string | number)[]): Promise<number> {
  server.listen(...at as [number, string])
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** What a program achieves behind a wall, and what it left outside. */
async function intrusion(options: PipeOptions) {
  // Beside /tmp, which bubblewrap replaces as a whole.
  const outside = realpathSync(mkdtempSync('/var/tmp/bulkhead-outside-'))
  onTestFinished(() => rmSync(outside, { recursive: true }))
  const secret = join(outside, 'secret')
  const env = join(setup.workspace, 'deep/.env')
  mkdirSync(dirname(env))
  for (const file of [secret, env, join(setup.workspace, 'plain')]) writeFileSync(file, 'KEY=1\n')
  copyFileSync(join(import.meta.dirname, 'fixtures/intruder.cjs'), join(setup.workspace, 'intruder.cjs'))
  const socket = join(setup.workspace, 'socket')
  const received: string[] = []
  const datagrams = createSocket('udp4').on('message', (text) => received.push(`${text}`)).bind(0, '127.0.0.1')
  await once(datagrams, 'listening')
  onTestFinished(() => void datagrams.close())
  const places = {
    outside, secret, env, inside: setup.workspace, pid: process.pid, socket,
    tcp: await listening(createServer(), 0, '127.0.0.1'), udp: datagrams.address().port,
  }
  await listening(createServer(), socket)
  await listening(createServer(), `\0${socket}`)
  const before = statSync(secret, { bigint: true })
  const { stdout, stderr } = await run(`node intruder.cjs '${JSON.stringify(places)}'`, options)
  const after = statSync(secret, { bigint: true })
  expect([readFileSync(secret, 'utf8'), readdirSync(outside)], stderr).toEqual(['KEY=1\n', ['secret']])
  if (hasMounts || options.wall === 'look') expect(after).toEqual(before)
  // A datagram is sent without an answer.
  const achieved = JSON.parse(stdout) as readonly string[]
  return { achieved: [...achieved, ...(received.length > 0 ? ['udp'] : [])] }
}

/** Landlock is a wall without mounts: it does not govern sockets by path, nor rights and times of files. */
const hasMounts = has('bubblewrap')
const walls = await commandWalls(setup.workspace, undefined)
const WALLED = { ...WALLS, ...runsIf(walls.look, 'needs bubblewrap or Landlock') }
const OWN = ['home', '/dev/null']
const METADATA = ['rights outside', 'times outside']
const WRITES = ['read .env', 'rights of .env', 'write inside', 'folder inside', 'rights inside', 'times inside', ...OWN]

describe('a real program', WALLED, () => {
  it('behind look reads no .env, and changes and reaches nothing', async () => {
    expect((await intrusion({ wall: 'look' })).achieved).toEqual(OWN)
    expect(existsSync(join(setup.workspace, 'written'))).toBe(false)
  })

  it('behind work writes the workspace, and reaches nothing', async () => {
    const { achieved } = await intrusion({ wall: 'work' })
    expect(achieved).toEqual(hasMounts ? [...WRITES, 'unix socket'] : [...METADATA, ...WRITES])
  })

  it('behind work with the whole network reaches it, and no files more', async () => {
    const { achieved } = await intrusion({ wall: 'work', hosts: 'all' })
    expect(achieved).toEqual(hasMounts ? [...WRITES, 'tcp', 'unix socket', 'abstract socket', 'udp']
      : [...METADATA, ...WRITES, 'tcp', 'udp'])
  })
})

it('stands around every command of a shell, in its folder', WALLED, async () => {
  mkdirSync(join(setup.workspace, 'inner'))
  writeFileSync(join(setup.workspace, '.env'), 'KEY=1')
  const { shell } = setup.open(setup.everything(), { path: PATH })
  for (let round = 0; round < 3; round++) {
    const line = { cmd: 'sh', args: ['-c', 'pwd; cat; cat ../.env; echo x > made'], input: `${round}` }
    const { stdout, exits } = await shell.pipe([line], { wall: 'look', cwd: 'inner' })
    expect([stdout, exits[0]!.exitCode === 0]).toEqual([`${join(setup.workspace, 'inner')}\n${round}`, false])
  }
})

describe('what look hides in the workspace', WALLED, () => {
  const hide = (...names: readonly string[]): void => names.forEach((name) => {
    const path = join(setup.workspace, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'hidden\n')
  })

  it('is every file with credentials or variables, at any depth, also if it is new', async () => {
    const look = async () => (await run('find . -type f | sort; grep -rsh hidden . ; cat .env', { wall: 'look' }))
    hide(
      '.env.local', 'a/b/.ENV', 'a/.ssh/id_rsa', 'node_modules/p/.npmrc', 'a/.config/gh/hosts.yml', 'a/.config/other',
    )
    const names = hasMounts ? [] : ['./a/.config/gh/hosts.yml', './a/.ssh/id_rsa']
    expect((await look()).stdout.split('\n')).toEqual([
      ...['./.env.local', './a/.config/other', './a/b/.ENV', './node_modules/p/.npmrc', ...names].toSorted(), 'hidden',
      '',
    ])
    hide('.env')
    expect(await look()).toMatchObject({ stderr: expect.stringContaining('.env: Permission denied') })
  })

  it('looks unchanged to git', { ...needs('git'), ...LONG }, async () => {
    hide('.env.example', 'src/.envrc', 'plain')
    const git = (...args: readonly string[]) => execFileSync('git', ['-C', setup.workspace, ...args], {
      env: { ...process.env, HOME: setup.root, GIT_CONFIG_NOSYSTEM: '1' }, encoding: 'utf8',
    })
    git('init', '-q')
    // An index that is as new as its files is compared by content.
    execFileSync('touch', ['-d', '2020-01-01', '.env.example', 'src/.envrc', 'plain'], { cwd: setup.workspace })
    git('add', '.')
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-qm', 'one')
    writeFileSync(join(setup.workspace, 'plain'), 'changed\n')
    expect((await run('git status --short', { wall: 'look' })).stdout).toBe(' M plain\n')
  })

  it('is refused beyond a number of places, before anything runs', LONG, async () => {
    hide(
      ...Array.from({ length: hasMounts ? 1_001 : 4_097 }, (_, index) => (hasMounts ? `a${index}/.env` : `a/${index}`)),
    )
    hide('a/.env')
    await expect(run('true', { wall: 'look' }))
      .rejects.toMatchObject({ code: 'CapabilityUnavailable', data: { wall: 'look', reason: 'too many entries' } })
    expect((await run('true', { wall: 'work' })).exits).toEqual([{ exitCode: 0, signal: null }])
  })
})

describe('what other programs run', needs('bubblewrap', 'git'), () => {
  it('is read-only behind work, in nested repositories too, and git can commit', async () => {
    const git = 'git -c user.name=a -c user.email=a@example.com'
    execFileSync('git', ['init', '-q', join(setup.workspace, 'nested')], { stdio: 'ignore' })
    for (const name of [
      '.envrc', 'nested/.envrc', 'nested/.vscode/tasks.json', 'node_modules/p/.vscode/settings.json',
    ]) {
      mkdirSync(dirname(join(setup.workspace, name)), { recursive: true })
      writeFileSync(join(setup.workspace, name), 'mine')
    }
    const { stdout, stderr } = await run(`
      for file in .envrc nested/.envrc nested/.vscode/tasks.json nested/.git/config nested/.git/hooks/pre-commit; do
        echo theirs > $file && echo wrote $file
      done
      rm -f .envrc && echo removed; mv nested other && echo moved
      cd nested; mv .git other && echo moved
      echo x > file && ${git} add file && ${git} commit -qm one && git log --format=%s
      rm -rf ../node_modules && echo replaced`, { wall: 'work' })
    expect(stdout, stderr).toBe('one\nreplaced\n')
    expect(readFileSync(join(setup.workspace, '.envrc'), 'utf8')).toBe('mine')
  })
})

describe('hosts that a command may reach', { ...WALLS, ...runsIf(walls.network, 'needs a network of its own') }, () => {
  const GET = `node -e "fetch(process.argv[1]).then((r) => r.text()).then(console.log, (e) => console.log('failed'))"`

  it('are reached through the relay, and others are refused by name', async () => {
    const server = createHttpServer((_, response) => void response.end('hello'))
    const port = await listening(server, 0, '127.0.0.1')
    const other = await listening(createHttpServer((_, response) => void response.end('other')), 0, '127.0.0.1')
    const { stdout, stderr, exits } = await run(
      `${GET} http://127.0.0.1:${port}/ && ${GET} http://127.0.0.1:${other}/; exit 3`,
      { wall: 'work', hosts: [`127.0.0.1:${port}`] },
    )
    expect([stdout.split('\n')[0], exits]).toEqual(['hello', [{ exitCode: 3, signal: null }]])
    expect(stderr).toContain(`refused a connection to 127.0.0.1:${other}`)
  })

  it('of a third-party tool are its own, and it chooses no wall', async () => {
    const port = await listening(createHttpServer((_, response) => void response.end('hello')), 0, '127.0.0.1')
    writeFileSync(join(setup.root, 'outside'), 'outside')
    const { shell } = setup.open({ ...setup.everything(), net: { hosts: [`127.0.0.1:${port}`] } },
      { path: PATH, choosesWalls: false })
    const script = `${GET} http://127.0.0.1:${port}/; cat ${setup.root}/outside; echo x > made`
    const ran = await shell.run('sh', ['-c', script])
    const piped = await shell.pipe([{ cmd: 'sh', args: ['-c', script] }], { wall: 'open' })
    expect([ran.stdout, piped.stdout]).toEqual(['hello\n', 'hello\n'])
    expect(existsSync(join(setup.workspace, 'made'))).toBe(true)
  })
})

it('the walls are reported as they stand', WALLS, async () => {
  expect(walls).toEqual(
    hasMounts
      ? { look: true, work: true, network: true, masks: 'mount' }
      : {
          look: walls.look, work: walls.look, network: walls.look && (await ownNetwork()) !== undefined,
          masks: walls.look ? 'grants' : 'none',
        },
  )
})
