// @module-tag walls
import { writeFile } from 'node:fs/promises'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { temporaryFolder } from '../fixture.ts'
import { attempt, attemptAll } from './run-under-layers.ts'

const here = await detectOsLayers()
const nothing = withoutLayers('it is not wanted here')
/** Each layer alone, so that no other one hides its failure. */
const confined: OsLayers = { ...nothing, bubblewrap: here.bubblewrap }

/** A folder on the host with a file in it. */
async function secretFile(): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = await temporaryFolder()
  const file = join(folder, 'secret.txt')
  await writeFile(file, 'canary')
  return { folder, file }
}

/** A server on the host, and how many connections it got. */
async function serverAt(
  where: string | { readonly port: number; readonly host: string },
): Promise<Server & { reached: number }> {
  const server = Object.assign(createServer((socket) => {
    server.reached += 1
    socket.on('error', () => undefined).end()
  }), { reached: 0 })
  await new Promise<void>((listening) => server.listen(where as string, listening))
  onTestFinished(() => new Promise((closed) => server.close(() => closed())))
  return server
}

interface Reach {
  readonly what: string
  /** Returns the code of the attempt. It runs without Node's permission model. */
  readonly prepare: () => Promise<string> | string
  readonly unconfined: unknown
  readonly refusal: RegExp
}

const REACHES: readonly Reach[] = [
  {
    what: 'read a file that everyone may read',
    prepare: () => `fs.readFileSync('/etc/passwd').length > 0`,
    unconfined: true,
    refusal: /^ENOENT$/,
  },
  {
    what: 'read a file of the host',
    prepare: async () => `fs.readFileSync(${JSON.stringify((await secretFile()).file)}, 'utf8')`,
    unconfined: 'canary',
    refusal: /^ENOENT$/,
  },
  {
    what: 'list the homes',
    prepare: () => `Array.isArray(fs.readdirSync('/home'))`,
    unconfined: true,
    refusal: /^ENOENT$/,
  },
  {
    what: 'write beside a file of the host',
    prepare: async () =>
      `fs.writeFileSync(${JSON.stringify(join((await secretFile()).folder, 'new.txt'))}, 'x') ?? 'written'`,
    unconfined: 'written',
    refusal: /^ENOENT$/,
  },
  {
    what: 'open a database of the host',
    prepare: async () => {
      const path = JSON.stringify(join((await secretFile()).folder, 'new.db'))
      return `new (await import('node:sqlite')).DatabaseSync(${path}).exec('create table t (x)') ?? 'created'`
    },
    unconfined: 'created',
    refusal: /^ERR_SQLITE_ERROR$/,
  },
  {
    what: 'see the processes of the host',
    prepare: () => `fs.readFileSync('/proc/${process.pid}/stat', 'latin1').startsWith('${process.pid} ')`,
    unconfined: true,
    refusal: /^ENOENT$/,
  },
  {
    what: 'signal the host',
    prepare: () => `process.kill(${process.pid}, 0)`,
    unconfined: true,
    refusal: /^ESRCH$/,
  },
  {
    what: 'signal its parent on the host',
    // Inside, the parent is bubblewrap, which signals from inside do not end.
    prepare: () => `process.ppid === ${process.pid} || Promise.reject(new Error('another parent'))`,
    unconfined: true,
    refusal: /^another parent$/,
  },
  {
    what: 'learn the name of the host',
    prepare: () => `os.hostname() === ${JSON.stringify(hostname())} || Promise.reject(new Error('another name'))`,
    unconfined: true,
    refusal: /^another name$/,
  },
]

describe('with layers of the system only, unrestricted Node code cannot', () => {
  // All attempts run in one process, because starting it takes far longer.
  it(`${REACHES.map(({ what }) => what).join(', ')}`, async () => {
    const outcomesUnder = async (layers: OsLayers): Promise<ReadonlyMap<string, unknown>> => {
      const outcomes = await attemptAll(layers, await Promise.all(REACHES.map(({ prepare }) => prepare())))
      return new Map(REACHES.map(({ what }, at) => [what, outcomes[at]]))
    }
    const open = new Map(REACHES.map(({ what, unconfined }) => [what, { value: unconfined }]))
    // The same attempt must succeed without layers. Otherwise its failure would prove nothing.
    expect(await outcomesUnder(nothing)).toEqual(open)
    const outcomes = await outcomesUnder(confined)
    if (!here.bubblewrap.active) return expect(outcomes).toEqual(open)
    expect(outcomes)
      .toEqual(new Map(REACHES.map(({ what, refusal }) => [what, { refused: expect.stringMatching(refusal) }])))
  })

  it('connect to a server of the host on the loopback, at a name without a file, and at a file', async () => {
    const loopback = { port: 0, host: '127.0.0.1' }
    const names = [`\0bulkhead-${process.pid}-${Math.random()}`, join(await temporaryFolder(), 'socket')]
    const servers = await Promise.all([loopback, ...names].map(serverAt))
    const { port } = servers[0]!.address() as AddressInfo
    const expressions = [{ ...loopback, port }, ...names].map((where) => `connect(${JSON.stringify(where)})`)
    const connected = servers.map(() => ({ value: 'connected' }))
    expect(await attemptAll(nothing, expressions)).toEqual(connected)
    expect(servers.map(({ reached }) => reached)).toEqual([1, 1, 1])
    const outcomes = await attemptAll(confined, expressions)
    const refused = servers.map(() => ({ refused: expect.stringMatching(/^(ECONNREFUSED|ENOENT)$/) }))
    expect(outcomes).toEqual(here.bubblewrap.active ? refused : connected)
    expect(servers.map(({ reached }) => reached)).toEqual(here.bubblewrap.active ? [1, 1, 1] : [2, 2, 2])
  })
})

describe('the file system inside bubblewrap', needs('bubblewrap'), () => {
  it('has only Node and its libraries, and is read-only', async () => {
    if (!here.bubblewrap.active) throw new Error(here.bubblewrap.reason)
    const outcome = await attempt(confined, `({
      files: fs.readdirSync('/', { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        .map((entry) => (entry.parentPath + '/' + entry.name).replaceAll('//', '/')).sort(),
      written: (() => { try { return fs.writeFileSync('/new', '') } catch ({ code }) { return code } })(),
      overwritten: (() => { try { return fs.openSync(process.execPath, 'r+') } catch ({ code }) { return code } })(),
      who: [process.getuid(), process.getgid()],
    })`.replaceAll('\n', ' '))
    const files = [...here.bubblewrap.files.keys()].toSorted()
    const overwritten = expect.stringMatching(/^(EROFS|ETXTBSY|EACCES)$/)
    expect(outcome).toEqual({ value: { files, written: 'EROFS', overwritten, who: [65534, 65534] } })
  })
})
