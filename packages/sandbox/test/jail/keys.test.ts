import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { KeyUse, ServerStart } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { authorizedHost, KEY } from '../../../broker/test/net/key-host.ts'
import { descendants, placesOf } from '../../../broker/test/net/search-process.ts'
import { createServerJail } from '../../src/index.ts'
import { startJailed } from './run-jailed.ts'

/** Of the jail. */
const FOLDERS = ['home/server', 'tmp', 'run/bulkhead', 'dev/shm']
const SERVER = join(import.meta.dirname, 'fixtures/key-user.mjs')

/** A part of bubblewrap still sees the files of the host, which are not the jail's. */
const seesHost = (pid: number): boolean =>
  ['ino', 'dev'].every((id) => statSync(`/proc/${pid}/root/`)[id as 'ino'] === statSync('/')[id as 'ino'])

/** Starts the server, waits until it has used its key, and looks where the texts are. */
async function search(
  start: (host: string, work: string) => Partial<ServerStart>, texts: (held: string) => readonly string[],
) {
  const { port, received } = await authorizedHost('api.example', { address: '127.0.0.1' })
  const work = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-keys-')))
  onTestFinished(() => rmSync(work, { recursive: true }))
  const jail = createServerJail({
    kept: [], ownCode: [], projectLayer: join(work, '.bulkhead'), home: work, lookup: async () => ['127.0.0.1'],
  })
  const uses: KeyUse[] = []
  const host = `api.example:${port}`
  const jailed = await jail.prepare(
    {
      command: [process.execPath, SERVER, `https://${host}/v1/me`], cwd: work, env: { PATH: '/usr/bin:/bin' },
      grant: { read: [work, dirname(SERVER)], write: [], hosts: [host, `127.0.0.1:${port}`] }, ...start(host, work),
    },
    () => undefined, (use) => uses.push(use),
  )
  const child = startJailed(jailed)
  child.stderr!.pipe(process.stderr)
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  const answer = JSON.parse(String(line)) as {
    readonly status: number
    readonly body: string
    readonly echo: string
    readonly held: string
  }
  const processes = descendants(child.pid!)
  const wanted = texts(answer.held).map((text) => Buffer.from(text))
  const places = processes.map((pid) => placesOf(pid, wanted, seesHost(pid) ? [] : FOLDERS))
  const found = wanted.map((_, at) => places.flatMap((ofProcess) => ofProcess[at]!))
  child.stdin!.end()
  await once(child, 'exit')
  await jailed.release()
  return { answer, received, uses, host, found, processes }
}

it('a key is nowhere in the jail of a server that uses it', needs('bubblewrap', 'root'), async () => {
  const {
    answer, received, uses, host, found: [key, rest, placeholder], processes,
  } = await search(
    (to) => ({
      keys: [{ name: 'TOKEN', value: KEY, host: to, header: 'Authorization', methods: ['GET'], paths: ['/v1/**'] }],
    }),
    (held) => [KEY, KEY.slice(4, 24), held],
  )
  expect(answer).toEqual({
    status: 200, body: 'You sent Bearer [REDACTED].', echo: 'Bearer [REDACTED]',
    held: expect.stringMatching(/^ghp_[A-Za-z0-9]{36}$/),
  })
  expect(received).toEqual([`Bearer ${KEY}`])
  expect(uses).toEqual([{ key: 'TOKEN', host, method: 'GET', path: '/v1/me' }])
  expect([key, rest]).toEqual([[], []])
  // The search finds what is there.
  expect(processes.length).toBeGreaterThan(1)
  expect(placeholder).toContainEqual(expect.stringMatching(/^memory of/))
  expect(placeholder).toContainEqual(expect.stringMatching(/home\/server\/held$/))
})
