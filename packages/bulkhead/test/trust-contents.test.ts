import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, Interactor, TrustStanding } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agreeToProject } from '../src/cli/review.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-brings-')))
  // Without it, the command verifies the bundled tools each time.
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  writeExtension(join(folder, '.bulkhead'), {
    id: 'greeter', env: ['GREETING'], tools: [{ name: 'greet', requires: { fs: { write: ['{workspace}/**'] }, net: { hosts: ['evil.example'] } } }],
  }, `await (await import('node:fs')).promises.writeFile('${folder}/ran', ''); export default { tools: { greet: { execute: () => 1 } } }`)
  configure({
    mode: 'yolo', rules: [{ permission: 'write', pattern: '*', action: 'deny' }, { permission: 'bash', pattern: '*', action: 'allow' }],
    mcp: { evil: { type: 'local', command: ['touch', join(folder, 'ran')], env: ['TOKEN'], jail: false } },
    lsp: { ruby: { command: ['ruby-lsp'], suffixes: ['.rb'] } },
    openapi: { shop: { document: 'shop.json', baseUrl: 'https://shop.example' } },
  })
})
afterEach(() => rmSync(folder, { recursive: true }))

const configure = (config: ConfigFile) => writeFileSync(join(folder, '.bulkhead/config.json'), JSON.stringify(config))
const record = () => join(folder, 'home/.bulkhead/trust.jsonl')
interface Status { readonly standing: TrustStanding; readonly digest: string }
const status = async () => JSON.parse((await inside(['trust', '--status', '--json'], folder)).stdout) as Status

describe('bulkhead trust', () => {
  it('shows tools, powers, loosened settings and servers, and records nothing without consent', async () => {
    const { code, stdout, stderr } = await inside(['trust'], folder)
    expect([code, stdout, existsSync(record()), existsSync(join(folder, 'ran'))]).toEqual([1, '', false, false])
    expect(stderr).toMatch(/tool +greet: writes \{workspace\}\/\*\*, reaches evil\.example/)
    expect(stderr).toMatch(/reads +the variable GREETING/)
    expect(stderr).toMatch(/setting +mode = "yolo"/)
    expect(stderr).toMatch(/setting +rules\.1 = .*"bash"/)
    expect(stderr, 'a rule that denies loosens nothing').not.toMatch(/rules\.0/)
    expect(stderr).toMatch(/server +evil: starts "touch" ".*ran", with the variables TOKEN; not confined/)
    expect(stderr).toMatch(/language +ruby: starts "ruby-lsp"; in a jail: reads \{workspace\}, no network/)
    expect(stderr).toMatch(/document +shop: shop\.json, sent to https:\/\/shop\.example/)
    expect(stderr).toMatch(/ConsentRequired.*there is no terminal to ask.*--accept [0-9a-f]{12} or --yes/s)
  })

  it('accepts the digest that was shown without a terminal, and no other', async () => {
    const { digest } = await status()
    configure({ mode: 'ask' })
    const wrong = await inside(['trust', '--accept', digest.slice(0, 12)], folder)
    expect([wrong.code, wrong.stderr, existsSync(record())]).toEqual([1, expect.stringContaining('ConsentRequired'), false])
    const now = await status()
    expect((await inside(['trust', '--accept', now.digest.slice(0, 12)], folder)).code).toBe(0)
    expect((await status()).standing).toMatchObject({ kind: 'trusted', digest: now.digest })
  })

  it('--status shows the decision and the content, and decides nothing', async () => {
    expect((await status()).standing).toEqual({ kind: 'unknown' })
    expect(existsSync(record())).toBe(false)
    await inside(['trust', '--yes'], folder)
    expect((await inside(['trust', '--status'], folder)).stdout).toMatch(/tool +greet[^]*Trusted: it is used until its content changes/)
    configure({ mode: 'allowlist' })
    expect((await inside(['trust', '--status'], folder)).stdout).toMatch(/setting +mode = "allowlist"[^]*changed since you decided/)
    await inside(['trust', '--decline'], folder)
    expect(await status()).toMatchObject({ standing: { kind: 'declined' }, settings: [{ path: '/mode', value: 'allowlist', before: null }], servers: [] })
    rmSync(join(folder, '.bulkhead'), { recursive: true })
    expect((await inside(['trust', '--status'], folder)).stdout).toMatch(/has no tools.*Nothing to decide:/s)
  })
})

describe('a user at the terminal', () => {
  const contents = { path: '/work', digest: 'ab'.repeat(64) }
  const asking = (value: unknown, shown: string[] = []): Interactor => ({
    interact: async ({ request }) => {
      shown.push(request.kind === 'Confirm' ? request.prompt : request.kind)
      return value === undefined ? { status: 'rejected' } : { status: 'accepted', value: value as never }
    },
  })
  const options = { yes: false, accept: undefined }

  it('is asked after the content was shown', async () => {
    const shown: string[] = []
    await agreeToProject(contents, false, { ...options, interactor: asking(true, shown) })
    await agreeToProject(contents, true, { ...options, interactor: asking(true, shown) })
    expect(shown).toEqual(['Trust /work as shown above, until it changes?', 'Trust /work as shown above, for the next start?'])
  })

  it.each([false, undefined, 'yes'])('the answer %s is not consent', async (value) => {
    await expect(agreeToProject(contents, false, { ...options, interactor: asking(value) })).rejects.toMatchObject({ code: 'ConsentRequired' })
  })
})
