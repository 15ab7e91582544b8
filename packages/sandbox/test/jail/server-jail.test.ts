import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { JailGrant, ServerStart } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { lookWall, ownNetwork } from '@bulkhead/broker'
import { needs, WALLS } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { createServerJail } from '../../src/index.ts'
import { runJailed } from './run-jailed.ts'

const PROBE = join(import.meta.dirname, 'fixtures/probe.mjs')

let person: string
let service: Server
let port: number
beforeAll(async () => {
  person = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-jail-')))
  for (const folder of ['.ssh', '.bulkhead', 'work/.git/hooks', 'work/.bulkhead', 'more'])
    mkdirSync(join(person, folder), { recursive: true })
  for (const file of ['.ssh/id', '.bulkhead/bulkhead.db', 'note', 'work/note', 'work/.git/config', 'more/note'])
    writeFileSync(join(person, file), file)
  service = createServer((_, response) => void response.end('hello')).listen(0, '127.0.0.1')
  await new Promise((resolve) => service.once('listening', resolve))
  port = (service.address() as AddressInfo).port
})
afterAll(() => {
  service.close()
  rmSync(person, { recursive: true })
})

const jail = () => createServerJail({
  kept: [join(person, '.bulkhead')], ownCode: [], projectLayer: join(person, 'work/.bulkhead'), home: person,
  lookup: async (host) => [host === 'inner.example' ? '10.0.0.7' : '127.0.0.1'],
})
const start = (grant: Partial<JailGrant>, command = [process.execPath, PROBE]): ServerStart => ({
  command, cwd: join(person, 'work'), env: { PATH: '/usr/bin:/bin', HOME: person, TOKEN: 'given' },
  grant: { read: [], write: [], hosts: [], ...grant, ...(grant.read && { read: [...grant.read, dirname(PROBE)] }) },
})
async function probe(
  grant: Partial<JailGrant>, attempts: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { stdout, stderr, reported } = await runJailed(jail(), start(grant), JSON.stringify(attempts))
  if (stdout === '') throw new Error(stderr)
  return { ...(JSON.parse(stdout) as object), reported }
}
const reading = (path: string) => `fs.readFileSync(${JSON.stringify(path)}, 'utf8')`
const writing = (path: string) => `fs.writeFileSync(${JSON.stringify(path)}, 'x')`

describe('a server in a jail', needs('bubblewrap'), () => {
  it('sees what it is granted, without credentials and folders of the host, and nothing else', async () => {
    const core = '/proc/sys/kernel/core_pattern'
    const results = await probe(
      { read: [person] },
      {
        granted: reading(join(person, 'note')), cwd: 'process.cwd()', keys: reading(join(person, '.ssh/id')),
        store: reading(join(person, '.bulkhead/bulkhead.db')),
        hidden: `fs.readdirSync(${JSON.stringify(join(person, '.bulkhead'))}).length`,
        write: writing(join(person, 'work/new')), root: writing('/new'), device: writing('/dev/new'),
        covered: writing(join(person, '.ssh/new')),
        kernel: `fs.writeFileSync(${JSON.stringify(core)}, fs.readFileSync(${JSON.stringify(core)}))`,
        shadow: reading('/etc/shadow'), rootHome: "fs.readdirSync('/root')",
        processes: "fs.readdirSync('/proc').filter((name) => name > 0).length < 9",
        home: "fs.writeFileSync(os.homedir() + '/x', 'x') ?? os.homedir()", user: 'os.userInfo().username',
        env: 'Object.keys(process.env).sort().join()', host: `process.kill(${process.pid}, 0)`,
        namespace: "run('unshare', '--user', 'true')", program: "run('sh', '-c', 'echo hello')",
        loopback: `reach(${port}, '127.0.0.1')`, metadata: "reach(80, '169.254.169.254')",
        outside: "reach(443, '192.0.2.1')",
      },
    )
    expect(results).toMatchObject({
      granted: 'note', cwd: join(person, 'work'), keys: 'refused ENOENT', store: 'refused ENOENT', hidden: 0,
      write: 'refused EROFS', root: 'refused EROFS', device: 'refused EROFS', covered: 'refused EROFS',
      kernel: 'refused EROFS', shadow: 'refused ENOENT', rootHome: 'refused ENOENT', processes: true,
      home: '/home/server', user: 'server', env: 'HOME,LOGNAME,PATH,PWD,TMPDIR,TOKEN,USER', host: 'refused ESRCH',
      namespace: 'refused 1', program: 'hello', loopback: 'refused ECONNREFUSED', metadata: 'refused ENETUNREACH',
      outside: 'refused ENETUNREACH',
    })
  })

  it('leaves no relay behind if its start cannot be prepared', async () => {
    const temporary = mkdtempSync(join(person, 'temporary-'))
    vi.stubEnv('TMPDIR', temporary)
    onTestFinished(() => void vi.unstubAllEnvs())
    // The variables are read after the relay was opened.
    const env = new Proxy({ PATH: '/usr/bin:/bin' }, { ownKeys: () => { throw new Error('not readable') } })
    await expect(jail().prepare({ ...start({ hosts: ['api.example'] }), env }, () => undefined)).rejects.toThrow(
      'not readable',
    )
    expect(readdirSync(temporary)).toEqual([])
  })

  it('writes what it may write, but no settings, files of the host or files that other programs run', async () => {
    const work = join(person, 'work')
    const results = await probe(
      { read: [], write: [work] },
      {
        write: writing(join(work, 'new')), settings: writing(join(work, '.bulkhead/config.json')),
        hook: writing(join(work, '.git/hooks/pre-commit')), git: reading(join(work, '.git/config')),
        outside: reading(join(person, 'note')),
      },
    )
    expect(results).toMatchObject({
      write: 'done', settings: 'refused EROFS', hook: 'refused EROFS', git: 'work/.git/config',
      outside: 'refused ENOENT',
    })
    expect(readFileSync(join(work, 'new'), 'utf8')).toBe('x')
  })

  it('keeps nested settings that other programs run read-only, and writes beside them', async () => {
    const nested = join(person, 'projects')
    mkdirSync(join(nested, 'one/.git/objects'), { recursive: true })
    for (const name of ['one/.git/HEAD', 'one/.git/config', 'one/.envrc']) writeFileSync(join(nested, name), name)
    expect(await probe({ read: [], write: [nested] }, {
      config: writing(join(nested, 'one/.git/config')), variables: writing(join(nested, 'one/.envrc')),
      moved: `fs.renameSync(${JSON.stringify(join(nested, 'one'))}, ${JSON.stringify(join(nested, 'two'))})`,
      head: writing(join(nested, 'one/.git/HEAD')), beside: writing(join(nested, 'one/file')),
    })).toMatchObject({
      config: 'refused EROFS', variables: 'refused EROFS', moved: 'refused EBUSY', head: 'done', beside: 'done',
    })
  })

  it('cannot write, remove or move the store and the code of the host, nor the folders that hold them', async () => {
    const folder = join(person, 'store')
    const [data, app] = [join(folder, 'deep/data'), join(folder, 'app')]
    const code = join(app, 'node_modules/host')
    for (const each of [data, code]) mkdirSync(each, { recursive: true })
    for (const name of ['a.db', 'a.db-wal', 'other']) writeFileSync(join(data, name), name)
    const standing = createServerJail({
      kept: [], ownCode: [code], projectLayer: join(folder, '.bulkhead'),
      storeFiles: [join(data, 'a.db'), join(data, 'a.db-')], home: person,
    })
    const moving = (from: string) => `fs.renameSync(${JSON.stringify(from)}, ${JSON.stringify(`${from}.moved`)})`
    const { stdout } = await runJailed(
      standing, start({ read: [], write: [folder] }),
      JSON.stringify({
        write: writing(join(data, 'a.db')), log: writing(join(data, 'a.db-wal')),
        remove: `fs.unlinkSync(${JSON.stringify(join(data, 'a.db'))})`, moveFile: moving(join(data, 'a.db-wal')),
        moveData: moving(data), moveAbove: moving(dirname(data)), moveApp: moving(app),
        code: writing(join(code, 'index.js')), other: writing(join(data, 'other')),
        beside: writing(join(app, 'index.js')),
      }),
    )
    expect(JSON.parse(stdout)).toEqual({
      write: 'refused EROFS', log: 'refused EROFS', remove: 'refused EBUSY', moveFile: 'refused EBUSY',
      moveData: 'refused EBUSY', moveAbove: 'refused EBUSY', moveApp: 'refused EBUSY', code: 'refused EROFS',
      other: 'done', beside: 'done',
    })
  })

  it('reaches granted hosts only, through the proxy, and reports attempts to reach others', async () => {
    // Its own folder: other tests of this machine have sockets of relays in the shared one.
    const sockets = mkdtempSync(join(tmpdir(), 'bulkhead-sockets-'))
    vi.stubEnv('TMPDIR', sockets)
    onTestFinished(() => {
      vi.unstubAllEnvs()
      rmSync(sockets, { recursive: true })
    })
    const hosts = [`api.example:${port}`, `inner.example:${port}`, `127.0.0.1:${port}`]
    const results = await probe(
      { read: [], hosts },
      {
        name: `fetched('http://api.example:${port}/')`, address: `fetched('http://127.0.0.1:${port}/')`,
        program: `run('sh', '-c', 'printf "CONNECT api.example:${port} HTTP/1.1\\r\\n\\r\\n" | timeout 2 '
          + JSON.stringify(process.execPath) + ' -e ' + JSON.stringify(${JSON.stringify(
          "const s = require('net').connect(new URL(process.env.HTTPS_PROXY).port, '127.0.0.1', () => { "
            + "process.stdin.pipe(s, { end: false }); s.once('data', (d) => { "
            + "process.stdout.write(String(d).split(' ')[1]); process.exit() }) })",
        )}))`,
        otherPort: "fetched('http://api.example/')", other: "fetched('http://example.com/')",
        secure: "fetched('https://example.com/')", metadata: "fetched('http://169.254.169.254/')",
        private: `fetched('http://inner.example:${port}/')`, direct: `reach(${port}, '127.0.0.1')`,
      },
    )
    expect(results).toEqual({
      name: 200, address: 200, program: '200', otherPort: 403, other: 403, secure: expect.stringContaining('refused'),
      metadata: 403, private: 403,
      direct: 'refused ECONNREFUSED',
      reported: ['api.example', 'example.com', 'example.com:443', '169.254.169.254', `inner.example:${port}`].map(
        (host) => expect.stringContaining(`refused a connection to ${host}: `),
      ),
    })
    expect(readdirSync(sockets).filter((name) => name.startsWith('bulkhead-relay-'))).toEqual([])
  })

  const BOMBS = [
    ['memory', ['sh', '-c', 'tail /dev/zero & tail /dev/zero & wait'], /MB of memory/],
    ['processes', ['sh', '-c', 'f() { f & f & wait; }; f'], /processes and threads/],
  ] as const
  it.each(BOMBS)('is ended by the host if it takes too much: %s', ONLY_IN_SOAK, async (_, command, what) => {
    const { signal, stderr, reported } = await runJailed(jail(), start({}, [...command]))
    // The kernel stops processes of ordinary users before the host does.
    if (process.getuid!() === 0) expect([signal, reported]).toEqual(['SIGKILL', [expect.stringMatching(what)]])
    else expect(`${reported.join()} ${stderr}`).toMatch(/jail ended|cannot allocate|fork|Resource|memory/i)
  })

  it('cannot fill the disk', ONLY_IN_SOAK, async () => {
    const fill = (path: string) => `run('sh', '-c', 'dd if=/dev/zero of=${path}/full bs=1M count=600 2>&1 || true')`
    const results = await probe(
      { read: [] },
      {
        home: fill('/home/server'), temporary: fill('/tmp'), shared: fill('/dev/shm'),
        workspace: fill(join(person, 'work')), usr: fill('/usr'),
      },
    )
    for (const place of ['home', 'temporary', 'shared']) expect(results[place]).toMatch(/No space left/)
    for (const place of ['workspace', 'usr']) expect(results[place]).toMatch(/Read-only|nonexistent|No such file/)
  })

  it('does not outlive the process that started it', ONLY_IN_SOAK, async () => {
    let killed = false
    await runJailed(jail(), start({}, ['sh', '-c', 'setsid sleep 1000.5 & sleep 1000.5']), '', (pid) => {
      setTimeout(() => { killed = process.kill(pid, 'SIGKILL') }, 500)
    })
    expect(killed).toBe(true)
    const left = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('sleep\x001000.5')
      } catch {
        return false
      }
    })
    expect(left).toEqual([])
  })
})

const network = await ownNetwork()
const hasNetwork = (wanted: boolean) => runsIf((network !== undefined) === wanted,
  wanted ? 'needs unshare with a network' : 'needs a system that gives no network of its own')

describe('where bubblewrap is missing', { ...WALLS, ...runsIf((await lookWall()).stands, 'needs Landlock') }, () => {
  const bare = () => createServerJail({
    kept: [join(person, '.bulkhead')], ownCode: [], projectLayer: join(person, 'work/.bulkhead'), home: person,
    folders: [join(person, 'more')],
  })
  const probed = async (grant: Partial<JailGrant>, attempts: Readonly<Record<string, string>>) => {
    const { stdout, stderr } = await runJailed(bare(), start(grant), JSON.stringify(attempts))
    return JSON.parse(stdout === '' ? JSON.stringify(stderr) : stdout) as unknown
  }
  const reaching = () => ({ tcp: `reach(${port}, '127.0.0.1')` })

  it('a server without hosts opens what it is granted, and has no sockets', async () => {
    expect(
      await probed(
        { read: [person] },
        {
          granted: reading(join(person, 'note')), cwd: 'process.cwd()', keys: reading(join(person, '.ssh/id')),
          store: reading(join(person, '.bulkhead/bulkhead.db')), write: writing(join(person, 'work/late')),
          rights: `fs.chmodSync(${JSON.stringify(join(person, 'note'))}, 0o600)`, shadow: reading('/etc/shadow'),
          outside: reading(join(import.meta.dirname, 'run-jailed.ts')), host: `process.kill(${process.pid}, 0)`,
          home: "fs.writeFileSync(os.homedir() + '/x', 'x')", env: 'process.env.TOKEN',
          program: "run('sh', '-c', 'echo hello')", namespace: "run('unshare', '--user', 'true')", ...reaching(),
        },
      ),
    ).toEqual({
      granted: 'note', cwd: join(person, 'work'), keys: 'refused EACCES', store: 'refused EACCES',
      write: 'refused EACCES', rights: 'refused EPERM', shadow: 'refused EACCES', outside: 'refused EACCES',
      host: 'refused EPERM', home: 'done', env: 'given', program: 'hello', namespace: expect.stringMatching(/^refused/),
      tcp: 'refused EPERM',
    })
  })

  it('a server writes what it may write, and nothing else', async () => {
    expect(await probed({ read: [], write: [join(person, 'work')] }, {
      write: writing(join(person, 'work/launched')), outside: writing(join(person, 'launched')),
    })).toEqual({ write: 'done', outside: 'refused EACCES' })
  })

  it('a server with hosts is refused with a cure, unless it accepts the whole network', hasNetwork(false), async () => {
    const hosts = ['api.example.com']
    await expect(bare().prepare(start({ hosts }), () => undefined)).rejects.toMatchObject({
      code: 'CapabilityUnavailable',
      message: expect.stringMatching(/bwrap is not installed.*network of its own.*"jail": "files"/),
    })
    expect(await bare().findFault({ hosts })).toMatch(/^bwrap is not installed, and without it .* needs a network/)
    expect(await bare().findFault({ hosts, acceptsNetwork: true })).toBe(undefined)
    const attempts = { ...reaching(), outside: reading(join(person, 'note')) }
    expect(await probed({ read: [], hosts, acceptsNetwork: true }, attempts))
      .toEqual({ tcp: 'connected', outside: 'refused EACCES' })
  })

  it('a server with hosts reaches them in a network of its own, and nothing else', hasNetwork(true), async () => {
    const hosts = [`127.0.0.1:${port}`]
    expect(await bare().findFault({ hosts })).toBe(undefined)
    expect(await probed({ read: [], hosts, acceptsNetwork: true }, {
      granted: `fetched('http://127.0.0.1:${port}/')`, other: "fetched('http://127.0.0.1:65000/')", ...reaching(),
      outside: reading(join(person, 'note')),
    })).toEqual({ granted: 200, other: 403, tcp: 'refused ECONNREFUSED', outside: 'refused EACCES' })
  })
})
