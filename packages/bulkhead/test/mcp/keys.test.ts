import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { createHost, openSqliteStore, type ApprovalRequest, type BulkheadEvent } from '../../src/index.ts'
import { createAuthority } from '../../../broker/src/net/keys/authority.ts'
import { shareVerified } from '../cache.ts'
import { inside } from '../command-inside.ts'

const SERVER = join(import.meta.dirname, 'fixtures/hostile-server.mjs')
const KEY = 'acme_Zq81TnVb64KdMw0RyXc3HsLpQe7UjAf2GoEi'

it(
  'a server uses a key that it never gets; each use is in the audit, and each misplaced placeholder too',
  needs('bubblewrap'),
  async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-keys-')))
    for (const name of ['work', 'home']) mkdirSync(join(folder, name))
    shareVerified(join(folder, 'home'))
    const before = getCACertificates('default')
    const authority = createAuthority(['localhost'])
    setDefaultCACertificates([...before, authority.certificate])
    const received: (string | undefined)[] = []
    const service = createServer(
      { SNICallback: (name, done) => done(null, authority.identityOf(name)) },
      ({ headers }, response) => {
        received.push(headers.authorization)
        response.end(`You sent ${headers.authorization}.`)
      },
    ).listen(0, '127.0.0.1')
    await once(service, 'listening')
    const host = `localhost:${(service.address() as AddressInfo).port}`
    const store = await openSqliteStore({ file: join(folder, 'home/bulkhead.db') })
    const bulkhead = await createHost({
      workspace: join(folder, 'work'), home: join(folder, 'home'), store, env: { ...process.env, ACME_TOKEN: KEY },
      discover: 'when-asked',
      config: {
        audit: { enabled: true },
        mcp: {
          ship: {
            type: 'local', command: [process.execPath, SERVER], requires: { fs: { read: [dirname(SERVER)] } },
            keys: { ACME_TOKEN: { host, methods: ['GET'], paths: ['/v1/**'] } },
          },
        },
      },
    })
    onTestFinished(async () => {
      await bulkhead.close()
      setDefaultCACertificates(before)
      service.close()
      rmSync(folder, { recursive: true })
    })
    const events: BulkheadEvent[] = []
    bulkhead.on((event) => void events.push(event), ['KeyUsed', 'KeyRefused'])
    await bulkhead.mcp.connect()
    const asked: ApprovalRequest[] = []
    const session = await bulkhead.openSession({
      mode: 'ask',
      approver: {
        approve: async (request) => {
          asked.push(request)
          return { decision: 'once' }
        },
      },
    })
    const ask = async (path: string) => {
      const outcome = await session.call({
        id: path, name: 'ship_try', arguments: { what: 'ask', url: `https://${host}${path}`, variable: 'ACME_TOKEN' },
      })
      return JSON.stringify(outcome)
    }
    expect(await ask('/v1/me')).toContain('200 You sent Bearer [REDACTED].')
    expect(await ask('/v2/me')).toMatch(/200 You sent Bearer acme_(?!Zq81)/)
    expect(received).toEqual([`Bearer ${KEY}`, expect.stringMatching(/^Bearer acme_(?!Zq81)[A-Za-z0-9]{36}$/)])
    const common = { extensionId: 'mcp-ship', key: 'ACME_TOKEN', host, method: 'GET' }
    const seen = [
      { type: 'KeyUsed', ...common, path: '/v1/me' },
      { type: 'KeyRefused', ...common, path: '/v2/me', reason: 'at a path that its paths do not include' },
    ]
    expect(events).toMatchObject(seen)
    expect(asked[0]!.mayTouch.join('\n')).toMatch(/secret ACME_TOKEN.*localhost/)
    await bulkhead.close()
    await store.close()
    const { stdout } = await inside(
      ['audit', 'tail', '--count', '100', '--all', '--json', '--home', join(folder, 'home')], folder,
    )
    const records = (JSON.parse(stdout) as { record: { type: string } }[]).map(({ record }) => record)
    expect(records.filter(({ type }) => type.startsWith('Key'))).toMatchObject(seen)
    expect(stdout).not.toContain(KEY)
  },
)
