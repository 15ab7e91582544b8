// @module-tag long
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { BUNDLED } from '../bundled.ts'
import { inside } from '../command-inside.ts'
import { BLOCKS, ROOT } from '../pages/blocks.ts'

const PAGE = 'docs/guides/tenants.md'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

describe('the back end of the guide', needs('PostgreSQL'), () => {
  it('serves users of two tenants, each with files and tools of its own', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-back-end-')))
    const env = { STORE_URL: (await sharedPostgres()).url(newSchema()), PORT: String(await freePort()) }
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const { text } = BLOCKS.find(({ page, file }) => page === PAGE && file === 'back-end.ts')!
    writeFileSync(join(folder, 'back-end.ts'), text)
    for (const name of ['acme', 'globex']) {
      const home = join(folder, '.bulkhead')
      const added = await inside(
        ['store', 'tenant', 'add', name, '--home', home], folder, { BULKHEAD_STORE: env.STORE_URL })
      expect([added.code, added.stderr]).toEqual([0, expect.any(String)])
    }
    const child = spawn(process.execPath, [...BUNDLED, 'back-end.ts'], {
      cwd: folder, env: { ...process.env, HOME: folder, ...env }, stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'close')
    try {
      await once(child.stdout, 'data')
      const call = async (token: string, name: string, args: object) => {
        const response = await fetch(`http://127.0.0.1:${env.PORT}`, {
          method: 'POST', headers: { authorization: `Bearer ${token}` },
          body: JSON.stringify({ id: `${token} ${name}`, name, arguments: args }),
        })
        return [response.status, await response.text()] as const
      }
      expect(await call('stolen', 'company', {})).toEqual([401, expect.any(String)])
      for (const [token, tenant] of [['token-of-ada', 'acme'], ['token-of-bob', 'globex']] as const) {
        expect(await call(token, 'company', {})).toEqual([200, expect.stringContaining(`"company":"${tenant}"`)])
        const written = await call(token, 'write', { path: 'notes.txt', content: tenant })
        expect(written).toEqual([200, expect.stringContaining('"output"')])
      }
      for (const tenant of ['acme', 'globex']) {
        expect(readFileSync(join(folder, tenant, 'notes.txt'), 'utf8')).toBe(tenant)
      }
      const [, refused] = await call('token-of-ada', 'read', { path: join(folder, 'globex/notes.txt') })
      expect(refused).toContain('"error"')
      expect(refused).not.toContain('"globex"')
    } finally {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
