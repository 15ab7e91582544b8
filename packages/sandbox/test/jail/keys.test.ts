import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, realpathSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { KeyUse, ServerStart } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { createAuthority } from '../../../broker/src/net/keys/authority.ts'
import { createServerJail } from '../../src/index.ts'
import { startJailed } from './run-jailed.ts'

const KEY = 'ghp_Zq81TnVb64KdMw0RyXc3HsLpQe7UjAf2GoEi'
const SERVER = join(import.meta.dirname, 'fixtures/key-user.mjs')

/** A host that says what it got, with a certificate that this process trusts. */
async function service(): Promise<{ readonly port: number; readonly received: string[] }> {
  const authority = createAuthority(['api.example'])
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, authority.certificate])
  const received: string[] = []
  const server = createServer({ SNICallback: (name, done) => done(null, authority.identityOf(name)) }, ({ headers }, response) => {
    received.push(headers.authorization!)
    response.setHeader('x-echo', headers.authorization!).end(`You sent ${headers.authorization}.`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    setDefaultCACertificates(before)
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, received }
}

/** Starts the server, waits until it has used its key, and looks where the texts are. */
async function search(start: (host: string, work: string) => Partial<ServerStart>, texts: (held: string) => readonly string[]) {
  const { port, received } = await service()
  const work = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-keys-')))
  onTestFinished(() => rmSync(work, { recursive: true }))
  const jail = createServerJail({
    kept: [], ownCode: [], projectLayer: join(work, '.bulkhead'), home: work, lookup: async () => ['127.0.0.1'],
  })
  const uses: KeyUse[] = []
  const host = `api.example:${port}`
  const jailed = await jail.prepare({
    command: [process.execPath, SERVER, `https://${host}/v1/me`], cwd: work, env: { PATH: '/usr/bin:/bin' },
    grant: { read: [work, dirname(SERVER)], write: [], hosts: [host, `127.0.0.1:${port}`] }, ...start(host, work),
  }, () => undefined, (use) => uses.push(use))
  const child = startJailed(jailed)
  child.stderr!.pipe(process.stderr)
  const [line] = await once(child.stdout!, 'data') as [Buffer]
  const answer = JSON.parse(String(line)) as { readonly status: number; readonly body: string; readonly echo: string; readonly held: string }
  const processes = descendants(child.pid!)
  const wanted = texts(answer.held).map((text) => Buffer.from(text))
  const places = processes.map((pid) => placesOf(pid, wanted))
  const found = wanted.map((_, at) => places.flatMap((ofProcess) => ofProcess[at]!))
  child.stdin!.end()
  await once(child, 'exit')
  await jailed.release()
  return { answer, received, uses, host, found, processes }
}

function descendants(root: number): readonly number[] {
  const parents = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      return [[Number(name), Number(readFileSync(`/proc/${name}/stat`, 'latin1').replace(/^.*\) /s, '').split(' ')[1])] as const]
    } catch {
      // It has ended.
      return []
    }
  })
  const below = (pid: number): readonly number[] => [pid, ...parents.filter(([, parent]) => parent === pid).flatMap(([one]) => below(one))]
  return below(root)
}

/** For each of the texts, where a process has it: in its memory, environment, command line or files. */
function placesOf(pid: number, texts: readonly Buffer[]): readonly (readonly string[])[] {
  // Some parts of bubblewrap still see the files of the host, which are not the jail's.
  const isInside = statSync(`/proc/${pid}/root/`).ino !== statSync('/').ino || statSync(`/proc/${pid}/root/`).dev !== statSync('/').dev
  const files = (isInside ? ['home/server', 'tmp', 'run/bulkhead', 'dev/shm'] : []).flatMap((folder) => filesIn(`/proc/${pid}/root/${folder}`))
  const contents = [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`, ...files].map((file) => [file, readFileSync(file)] as const)
  const inMemory = new Set<Buffer>()
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  for (const [from, to] of regionsOf(pid)) searchIn(memory, from, to, texts, inMemory)
  closeSync(memory)
  return texts.map((text) => [
    ...(inMemory.has(text) ? [`memory of ${pid}`] : []),
    ...contents.filter(([, content]) => content.includes(text)).map(([file]) => file),
  ])
}

/** What a process can read and has touched. */
function regionsOf(pid: number): readonly (readonly [from: bigint, to: bigint])[] {
  return readFileSync(`/proc/${pid}/smaps`, 'latin1').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/).flatMap((region) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r(?!.*\[v)/.exec(region) ?? []
    const isTouched = /^(?:Rss|Swap): +[1-9]/m.test(region)
    return from === undefined || !isTouched ? [] : [[BigInt(`0x${from}`), BigInt(`0x${to}`)] as const]
  })
}

const buffer = Buffer.alloc(1024 * 1024)
/** The parts overlap by more than a text. */
const STEP = BigInt(buffer.length - 4096)
function searchIn(memory: number, from: bigint, to: bigint, texts: readonly Buffer[], found: Set<Buffer>): void {
  for (let at = from; at < to; at += STEP) {
    const size = to - at < BigInt(buffer.length) ? Number(to - at) : buffer.length
    let read = 0
    try {
      read = readSync(memory, buffer, 0, size, at)
    } catch {
      // Reserved, and never touched.
    }
    for (const text of texts) if (!found.has(text) && buffer.subarray(0, read).includes(text)) found.add(text)
  }
}

const filesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)).filter((file) => statSync(file).isFile())
  } catch {
    return []
  }
}

it('a key is nowhere in the jail of a server that uses it', needs('bubblewrap', 'root'), async () => {
  const { answer, received, uses, host, found: [key, rest, placeholder], processes } = await search(
    (to) => ({ keys: [{ name: 'TOKEN', value: KEY, host: to, header: 'Authorization', methods: ['GET'], paths: ['/v1/**'] }] }),
    (held) => [KEY, KEY.slice(4, 24), held],
  )
  expect(answer).toEqual({ status: 200, body: 'You sent Bearer [REDACTED].', echo: 'Bearer [REDACTED]', held: expect.stringMatching(/^ghp_[A-Za-z0-9]{36}$/) })
  expect(received).toEqual([`Bearer ${KEY}`])
  expect(uses).toEqual([{ key: 'TOKEN', host, method: 'GET', path: '/v1/me' }])
  expect([key, rest]).toEqual([[], []])
  // The search finds what is there.
  expect(processes.length).toBeGreaterThan(1)
  expect(placeholder).toContainEqual(expect.stringMatching(/^memory of/))
  expect(placeholder).toContainEqual(expect.stringMatching(/home\/server\/held$/))
})
