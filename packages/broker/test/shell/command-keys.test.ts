import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ANY_COMMAND, type CommandWall, type KeyUse } from '@bulkhead/contract'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { ShellOptions } from '../../src/shell/shell.ts'
import { commandWalls } from '../../src/shell/starter.ts'
import { authorizedHost, KEY } from '../net/key-host.ts'
import { descendants, placesOf } from '../net/search-process.ts'
import { ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())

const { network } = await commandWalls(setup.workspace, undefined)
const PATH = [dirname(realpathSync(process.execPath)), '/usr/bin', '/bin']

interface Attempt {
  readonly wall: CommandWall
  readonly options?: Partial<ShellOptions>
  readonly cmd?: string
  /** Of the key. */
  readonly host: string
}

/** Runs a script as bash would, with the wall that the host chose. */
function attempt(script: string, { wall, host, cmd = ANY_COMMAND, options = {} }: Attempt) {
  const uses: KeyUse[] = []
  const keys = [{ name: 'GH_TOKEN', value: KEY, host, header: 'Authorization', methods: ['GET'], paths: ['/v1/**'] }]
  const operator = { path: PATH, env: {}, keys }
  const fs = { read: [setup.workspace], write: [setup.workspace] }
  const { shell } = setup.open(
    { shell: [{ cmd, args: [{ rest: true }] }], fs }, { path: PATH, operator, isBundled: true, ...options },
    { wall, onKeyUse: (use) => void uses.push(use) },
  )
  return { uses, result: shell.pipe([{ cmd: 'sh', args: ['-c', script] }], { wall: 'work' }) }
}

/** Says what the host answered, and with what. */
const USER = `
  const { GH_TOKEN, HOME, NODE_EXTRA_CA_CERTS } = process.env
  const answer = await fetch(process.argv[1], { headers: { authorization: 'Bearer ' + GH_TOKEN } })
  const body = await answer.text()
  process.stdout.write(JSON.stringify({ held: GH_TOKEN, body, folders: [HOME, NODE_EXTRA_CA_CERTS] }))
`
const asNode = (url: string, more = ''): string =>
  `node --input-type=module -e '${(USER + more).replaceAll("'", "'\\''")}' ${url}`
const SHOW = 'echo "[$GH_TOKEN] [$SSL_CERT_FILE] [$NODE_EXTRA_CA_CERTS]"'

interface Said {
  readonly held: string
  readonly body: string
  readonly folders: readonly string[]
}

describe('a key of commands', { ...WALLS, ...runsIf(network, 'needs a network of its own for commands') }, () => {
  it('is sent for a command that reaches its host, and a placeholder that is new each time is all it has', async () => {
    const { host, received } = await authorizedHost('localhost')
    const wall = { wall: 'work', hosts: [host], keys: ['GH_TOKEN'] } as const
    const runs = [
      attempt(asNode(`https://${host}/v1/me`), { wall, host }),
      attempt(asNode(`https://${host}/v1/me`), { wall, host }),
    ]
    const said = await Promise.all(runs.map(async ({ result }) => {
      const { stdout, stderr } = await result
      expect(stderr).toBe('')
      return JSON.parse(stdout) as Said
    }))
    expect(received).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`])
    for (const { body, held } of said) {
      expect(body).toBe('You sent Bearer [REDACTED].')
      expect(held).toMatch(/^ghp_[A-Za-z0-9]{36}$/)
      expect(held).not.toBe(KEY)
    }
    expect(said[0]!.held).not.toBe(said[1]!.held)
    expect(runs.map(({ uses }) => uses)).toEqual(
      [1, 2].map(() => [{ key: 'GH_TOKEN', host, method: 'GET', path: '/v1/me' }]),
    )
  })

  it('is used by curl', { ...LONG, ...runsIf(existsSync('/usr/bin/curl'), 'needs curl') }, async () => {
    const { host, received } = await authorizedHost('localhost')
    const script = `curl -sS -H "Authorization: token $GH_TOKEN" https://${host}/v1/me`
    const { result } = attempt(script, { wall: { wall: 'work', hosts: [host], keys: ['GH_TOKEN'] }, host })
    expect(await result).toMatchObject({ stdout: 'You sent token [REDACTED].', stderr: '' })
    expect(received).toEqual([`token ${KEY}`])
  })

  it('is not sent to another place, which the command and the host hear', async () => {
    const { host, received } = await authorizedHost('localhost')
    const wall = { wall: 'work', hosts: [host], keys: ['GH_TOKEN'] } as const
    const { result, uses } = attempt(asNode(`https://${host}/v2/me`), { wall, host })
    const { stdout, stderr } = await result
    const { held, body } = JSON.parse(stdout) as Said
    expect([received, body]).toEqual([[`Bearer ${held}`], `You sent Bearer ${held}.`])
    expect(stderr).toContain('The placeholder of the key GH_TOKEN was sent at a path that its paths do not include ')
    expect(stderr).toMatch(/the key was not sent\.\n$/)
    expect(uses).toMatchObject([{ key: 'GH_TOKEN', refused: 'at a path that its paths do not include' }])
  })

  it('is in no memory, environment or file of the processes of a command that uses it', needs('root'), async () => {
    const { host, received } = await authorizedHost('localhost')
    const wait = `
      const { writeFileSync, existsSync } = await import('node:fs')
      writeFileSync('said', JSON.stringify({ held: GH_TOKEN, folders: [HOME, NODE_EXTRA_CA_CERTS] }))
      writeFileSync('ready', '')
      setInterval(() => { if (existsSync('go')) process.exit() }, 20)`
    const { result } = attempt(asNode(`https://${host}/v1/me`, wait), {
      wall: { wall: 'work', hosts: [host], keys: ['GH_TOKEN'] }, host,
    })
    await expect.poll(() => existsSync(join(setup.workspace, 'ready'))).toBe(true)
    const {
      held, folders: [home, certificate],
    } = JSON.parse(readFileSync(join(setup.workspace, 'said'), 'utf8')) as Said
    const processes = descendants(process.pid).filter((pid) => pid !== process.pid)
    const texts = [KEY, KEY.slice(4, 24), held].map((text) => Buffer.from(text))
    const places = processes.map((pid) => placesOf(pid, texts, [home!, dirname(certificate!), setup.workspace]))
    const [key, part, placeholder] = texts.map((_, at) => places.flatMap((ofProcess) => ofProcess[at]!))
    writeFileSync(join(setup.workspace, 'go'), '')
    await result
    expect(received).toEqual([`Bearer ${KEY}`])
    expect([key, part]).toEqual([[], []])
    // The search finds what is there.
    expect(placeholder).toContainEqual(expect.stringMatching(/^memory of/))
    expect(placeholder).toContainEqual(expect.stringMatching(/environ$/))
    expect(placeholder).toContainEqual(expect.stringMatching(/said$/))
  })

  it.each([
    ['without its host', { wall: 'work', hosts: ['other.example'], keys: ['GH_TOKEN'] }],
    ['without a network', { wall: 'work', keys: ['GH_TOKEN'] }],
    ['with the whole network', { wall: 'work', hosts: 'all', keys: ['GH_TOKEN'] }],
    ['behind look', { wall: 'look', hosts: ['localhost:1'], keys: ['GH_TOKEN'] }],
    ['behind no wall', { wall: 'open', hosts: ['localhost:1'], keys: ['GH_TOKEN'] }],
    ['with a host that was allowed without it', { wall: 'work', hosts: ['localhost:1'] }],
  ] as const)('is not for a command %s, and neither is a placeholder', LONG, async (_, wall) => {
    expect(await attempt(SHOW, { wall, host: 'localhost:1' }).result).toMatchObject({ stdout: '[] [] []\n' })
  })

  it.each([
    ['that is not bundled', { options: { isBundled: false } }],
    ['that runs some commands only', { cmd: 'sh' }],
  ] as const)('is not for a command of a tool %s', async (_, tool) => {
    const wall = { wall: 'work', hosts: ['localhost:1'], keys: ['GH_TOKEN'] } as const
    expect(await attempt(SHOW, { wall, host: 'localhost:1', ...tool }).result).toMatchObject({ stdout: '[] [] []\n' })
    const given = await attempt(SHOW, { wall, host: 'localhost:1' }).result
    expect(given.stdout).toMatch(/^\[ghp_\w{36}\] \[\/.+authorities\.pem\] \[\/.+authority\.pem\]\n$/)
  })
})

it(
  'is not for a command that has no network of its own',
  { ...WALLS, ...runsIf(!network && has('Linux'), 'commands have one here') },
  async () => {
    const wall = { wall: 'work', hosts: ['localhost:1'], keys: ['GH_TOKEN'] } as const
    expect(await attempt(SHOW, { wall, host: 'localhost:1' }).result).toMatchObject({ stdout: '[] [] []\n' })
  },
)
