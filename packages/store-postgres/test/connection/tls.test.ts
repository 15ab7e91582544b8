import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { startPostgres, type PostgresServer } from '../../../../scripts/postgres/server.ts'
import { postgresStatus } from '../../src/index.ts'

/** It signs itself, for the address 127.0.0.1 and not for the name `localhost`. */
const CERTIFICATE = join(import.meta.dirname, '../../../broker/test/net/fixtures/certificate.pem')
const SHORT = { connectMs: 5_000, statementMs: 5_000, patienceMs: 300 }

describe('a server with TLS', needs('PostgreSQL'), () => {
  let server: PostgresServer
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'bulkhead-tls-'))
    const pem = (name: string) => readFileSync(join(CERTIFICATE, `../${name}.pem`), 'utf8')
    const files = {
      'server.crt': pem('certificate'), 'server.key': pem('key'),
      'pg_hba.conf': 'hostssl all all 127.0.0.1/32 md5\nhostssl all all ::1/128 md5\n',
    }
    server = await startPostgres({ settings: { ssl: 'on', listen_addresses: '127.0.0.1' }, files })
    writeFileSync(join(folder, 'password'), `${server.password}\n`)
    chmodSync(join(folder, 'password'), 0o600)
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })
  const open = (host: string, words: string) => postgresStatus(
    `postgres://postgres@${host}:${server.port}/postgres?passwordfile=${join(folder, 'password')}&${words}`, SHORT,
  ).then(({ schema }) => schema, (error: Error & { readonly data?: object }) => {
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(server.password)
    return error
  })

  it('is trusted as the mode says', async () => {
    const refused = { code: 'StoreUnavailable', data: { reason: 'denied' } }
    const root = `sslrootcert=${CERTIFICATE}`
    expect(await open('127.0.0.1', `sslmode=verify-full&${root}`)).toBe(0)
    // The certificate is not for this name.
    expect(await open('localhost', `sslmode=verify-full&${root}`)).toMatchObject(refused)
    expect(await open('localhost', `sslmode=verify-ca&${root}`)).toBe(0)
    expect(await open('127.0.0.1', 'sslmode=verify-full')).toMatchObject(refused)
    expect(await open('127.0.0.1', 'sslmode=verify-ca')).toMatchObject(refused)
    expect(await open('127.0.0.1', 'sslmode=require')).toBe(0)
    // As libpq has it: an authority that is named is checked.
    expect(await open('127.0.0.1', `sslmode=require&${root}`)).toBe(0)
    expect(await open('127.0.0.1', 'sslmode=disable')).toMatchObject(refused)
  })
})
