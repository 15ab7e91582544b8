import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { canStateProvenance, planPublication } from '@bulkhead/loader'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-publish-'))) })
afterEach(() => rmSync(folder, { recursive: true }))

const PACKAGE = { name: '@acme/greeter', version: '1.2.0', license: 'MIT', publishConfig: { access: 'public', tag: 'next' } }
function extension(packageJson: object) {
  writeExtension(folder, { id: 'greeter', version: '1.2.0', tools: [{ name: 'greet' }] }, 'export default { tools: { greet: { execute: async () => "hi" } } }')
  const place = join(folder, 'tools/greeter')
  writeFileSync(join(place, 'README.md'), '# Greeter\n')
  writeFileSync(join(place, 'package.json'), JSON.stringify(packageJson))
  return place
}

interface Sent {
  readonly url: string | undefined
  readonly method: string | undefined
  readonly authorization: string | undefined
  readonly body: {
    readonly 'dist-tags': object
    readonly 'access': string
    readonly 'versions': Readonly<Record<string, { readonly dist: { readonly integrity: string }; readonly readme: string }>>
    readonly '_attachments': Readonly<Record<string, { readonly data: string }>>
  }
}

async function registry(status: number) {
  const sent: Sent[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { url, method, headers: { authorization } } = request
    sent.push({ url, method, authorization, body: JSON.parse(body || 'null') as Sent['body'] })
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { sent, host, async [Symbol.asyncDispose]() {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  } }
}

it('shows what the registry would get and sends nothing; then publishes it, with the token of that host only', async () => {
  await using mine = await registry(201)
  await using other = await registry(201)
  const place = extension(PACKAGE)
  mkdirSync(join(folder, 'home'))
  writeFileSync(join(folder, 'home/.npmrc'), `registry=http://${other.host}/\n@acme:registry=http://${mine.host}/npm/\n//${mine.host}/npm/:_authToken=mine\n//${other.host}/:_authToken=other\n`)
  const npm = { npm_config_userconfig: join(folder, 'home/.npmrc') }

  const dry = await inside(['publish', place, '--dry-run', '--json'], folder, npm)
  expect(mine.sent).toEqual([])
  const shown = JSON.parse(dry.stdout) as Record<string, unknown>
  expect(shown).toMatchObject({
    published: false, name: '@acme/greeter', version: '1.2.0', tag: 'next', access: 'public', registry: `http://${mine.host}/npm/`, authorized: true, provenance: false,
    files: expect.arrayContaining(['README.md', 'bulkhead.json', 'bulkhead.integrity.json', 'package.json']),
  })

  const { code, stdout, stderr } = await inside(['publish', place], folder, npm)
  expect([code, stdout]).toEqual([0, `Published @acme/greeter@1.2.0 to http://${mine.host}/npm/\n`])
  expect(stderr).toMatch(/ {2}source +not stated: this is no CI job with an identity\n/)
  const [{ url, method, authorization, body }] = mine.sent as [Sent]
  expect([url, method, authorization, other.sent]).toEqual(['/npm/@acme%2fgreeter', 'PUT', 'Bearer mine', []])
  expect(body).toMatchObject({ 'access': 'public', 'dist-tags': { next: '1.2.0' }, 'versions': { '1.2.0': { readme: '# Greeter\n', dist: { integrity: shown['tarballIntegrity'] } } } })
  const tarball = Buffer.from(body['_attachments']['@acme/greeter-1.2.0.tgz']!.data, 'base64')
  expect(`sha512-${createHash('sha512').update(tarball).digest('base64')}`).toBe(shown['tarballIntegrity'])
})

it('goes to the registry that package.json names, and explains a refusal', async () => {
  await using named = await registry(403)
  const place = extension({ ...PACKAGE, publishConfig: { registry: `http://${named.host}/` } })
  const npm = { BULKHEAD_REGISTRY: 'http://127.0.0.1:1/', [`npm_config_//${named.host}/:_authToken`]: 'named' }
  const { code, stderr } = await inside(['publish', place, '--quiet'], folder, npm)
  expect([code, stderr]).toEqual([1, expect.stringMatching(/InstallSourceUnavailable @acme\/greeter 1\.2\.0 was not published to \S+: The registry does not allow it\./)])
  expect(named.sent).toMatchObject([{ authorization: 'Bearer named' }])
})

it.each<[string, object | undefined, RegExp]>([
  ['no package.json', undefined, /^There is no package\.json, and a registry needs it\./],
  ['another version', { ...PACKAGE, version: '1.0.0' }, /^package\.json has version "1\.0\.0", and bulkhead\.json has 1\.2\.0\./],
  ['no name', { version: '1.2.0' }, /^package\.json needs a name/],
  ['a private package', { ...PACKAGE, private: true }, /^package\.json has "private"/],
  ['an install script', { ...PACKAGE, scripts: { postinstall: 'x' } }, /^package\.json has the script "postinstall"/],
  ['an unknown access', { ...PACKAGE, publishConfig: { access: 'all' } }, /^package\.json has another publishConfig\.access/],
])('refuses %s', (_, packageJson, message) => {
  const files = new Map(packageJson ? [['package.json', Buffer.from(JSON.stringify(packageJson))]] : [])
  const packed = { extension: { version: '1.2.0' }, files, tarball: Buffer.from('') }
  expect(() => planPublication(packed)).toThrow(message)
})

it('states provenance where a CI job has an identity', () => {
  expect([
    {}, { GITHUB_ACTIONS: 'true' }, { GITHUB_ACTIONS: 'true', ACTIONS_ID_TOKEN_REQUEST_URL: 'https://x' }, { GITLAB_CI: 'true', SIGSTORE_ID_TOKEN: 'x' }, { SIGSTORE_ID_TOKEN: 'x' },
  ].map(canStateProvenance)).toEqual([false, false, true, true, false])
})

it('signs nothing without an identity', async () => {
  expect(await inside(['sign', 'weather-1.0.0.tgz'], folder)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^SigningFailed There is no identity token\./) })
})
