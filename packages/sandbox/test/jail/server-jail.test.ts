import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { JailGrant, ServerStart } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServerJail } from '../../src/index.ts'
import { runJailed } from './run-jailed.ts'

const PROBE = join(import.meta.dirname, 'fixtures/probe.mjs')

let person: string
let service: Server
let port: number
beforeAll(async () => {
  person = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-jail-')))
  for (const folder of ['.ssh', '.bulkhead', 'work/.git/hooks', 'work/.bulkhead', 'more']) mkdirSync(join(person, folder), { recursive: true })
  for (const file of ['.ssh/id', '.bulkhead/bulkhead.db', 'note', 'work/note', 'work/.git/config', 'more/note']) writeFileSync(join(person, file), file)
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
async function probe(grant: Partial<JailGrant>, attempts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> {
  const { stdout, stderr, reported } = await runJailed(jail(), start(grant), JSON.stringify(attempts))
  if (stdout === '') throw new Error(stderr)
  return { ...JSON.parse(stdout) as object, reported }
}
const reading = (path: string) => `fs.readFileSync(${JSON.stringify(path)}, 'utf8')`
const writing = (path: string) => `fs.writeFileSync(${JSON.stringify(path)}, 'x')`

describe.runIf(existsSync('/usr/bin/bwrap'))('a server in a jail', () => {
  it('sees what it is granted, without credentials and folders of the host, and nothing else', async () => {
    const core = '/proc/sys/kernel/core_pattern'
    const results = await probe({ read: [person] }, {
      granted: reading(join(person, 'note')), cwd: 'process.cwd()', keys: reading(join(person, '.ssh/id')),
      store: reading(join(person, '.bulkhead/bulkhead.db')), hidden: `fs.readdirSync(${JSON.stringify(join(person, '.bulkhead'))}).length`,
      write: writing(join(person, 'work/new')), root: writing('/new'), device: writing('/dev/new'), covered: writing(join(person, '.ssh/new')),
      kernel: `fs.writeFileSync(${JSON.stringify(core)}, fs.readFileSync(${JSON.stringify(core)}))`,
      shadow: reading('/etc/shadow'), rootHome: "fs.readdirSync('/root')", processes: "fs.readdirSync('/proc').filter((name) => name > 0).length < 9",
      home: "fs.writeFileSync(os.homedir() + '/x', 'x') ?? os.homedir()", temporary: "fs.writeFileSync(os.tmpdir() + '/x', 'x') ?? fs.readdirSync('/tmp').join()",
      user: 'os.userInfo().username', env: 'Object.keys(process.env).sort().join()', host: `process.kill(${process.pid}, 0)`,
      namespace: "run('unshare', '--user', 'true')", program: "run('sh', '-c', 'echo hello')",
      loopback: `reach(${port}, '127.0.0.1')`, metadata: "reach(80, '169.254.169.254')", outside: "reach(443, '192.0.2.1')",
    })
    expect(results).toMatchObject({
      granted: 'note', cwd: join(person, 'work'), keys: 'refused ENOENT', store: 'refused ENOENT', hidden: 'done',
      write: 'refused EROFS', root: 'refused EROFS', device: 'refused EROFS', covered: 'refused EROFS', kernel: 'refused EROFS',
      shadow: 'refused ENOENT', rootHome: 'refused ENOENT', processes: true, home: '/home/server', temporary: 'x,x', user: 'server',
      env: 'HOME,LOGNAME,PATH,PWD,TMPDIR,TOKEN,USER', host: 'refused ESRCH', namespace: 'refused 1', program: 'hello',
      loopback: 'refused ECONNREFUSED', metadata: 'refused ENETUNREACH', outside: 'refused ENETUNREACH',
    })
  })
})
