import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { BulkheadError } from '@bulkhead/contract'
import { canStateProvenance, planPublication, publishPackage } from '@bulkhead/loader'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'
import { LONG, ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { joined } from './joined.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-publish-'))) })
afterEach(() => rmSync(folder, { recursive: true }))

const PACKAGE = {
  name: '@acme/greeter', version: '1.2.0', type: 'module', license: 'MIT',
  publishConfig: { access: 'public', tag: 'next' },
}
function extension(packageJson: object) {
  const inputSchema = { type: 'object', properties: {}, additionalProperties: false } as const
  writeExtension(
    folder,
    {
      id: 'greeter', version: '1.2.0',
      tools: [{ name: 'greet', description: 'Greets the person who asks for it.', inputSchema }],
    },
    'export default { tools: { greet: { execute: async () => "hi" } } }',
  )
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
    readonly 'versions': Readonly<
      Record<string, { readonly dist: { readonly integrity: string }; readonly readme: string }>
    >
    readonly '_attachments': Readonly<Record<string, { readonly data: string }>>
  }
}

/** It answers what is published with a status, and has these versions, by number. */
async function registry(status: number, versions: Readonly<Record<string, Uint8Array>> = {}, answer = '{}') {
  const sent: Sent[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { url, method, headers: { authorization } } = request
    if (method === 'GET') {
      const tarball = versions[url!.split('/').at(-1)!]
      if (tarball) response.end(tarball)
      else if (Object.keys(versions).length === 0) response.writeHead(404).end()
      else response.end(JSON.stringify(documentOf(`http://${host}/npm/`, versions)))
      return
    }
    sent.push({ url, method, authorization, body: JSON.parse(body || 'null') as Sent['body'] })
    response.writeHead(status, { 'content-type': 'application/json' }).end(answer)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { sent, host, async [Symbol.asyncDispose]() {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  } }
}

const documentOf = (url: string, versions: Readonly<Record<string, Uint8Array>>) => ({
  'name': PACKAGE.name, 'dist-tags': { latest: Object.keys(versions).at(-1) },
  'versions': Object.fromEntries(
    Object.entries(versions).map(([version, tarball]) => [
      version,
      {
        name: PACKAGE.name, version,
        dist: { tarball: url + version, integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}` },
      },
    ]),
  ),
})

/** The configuration of npm, with the token of each registry. */
function npmrc(mine: { readonly host: string }, other: { readonly host: string }): NodeJS.ProcessEnv {
  const file = join(folder, '.npmrc')
  writeFileSync(file, [
    `registry=http://${other.host}/`, `@acme:registry=http://${mine.host}/npm/`,
    `//${mine.host}/npm/:_authToken=mine`, `//${other.host}/:_authToken=other`, '',
  ].join('\n'))
  return { npm_config_userconfig: file }
}

// The suite runs for seconds: here, in the publication below, and not to its end where it fails.
it('shows what the registry would get and sends nothing, and compares with no placeholder', ONLY_IN_SOAK, async () => {
  // A placeholder reserves the name.
  await using mine = await registry(201, { '0.0.1': Buffer.from('no archive') })
  await using other = await registry(201)
  const place = extension(PACKAGE)
  const { code, stdout, stderr } = await inside(['publish', place, '--dry-run'], folder, npmrc(mine, other))
  expect([code, stdout, mine.sent, other.sent]).toEqual([0, 'Nothing was sent.\n', [], []])
  expect(stderr).toContain(`  registry http://${mine.host}/npm/\n`)
  expect(stderr).toMatch(/ {2}source +not stated: this is no CI job with an identity\n/)
  expect(stderr).toMatch(
    / {2}changes +unknown: @acme\/greeter@0\.0\.1 cannot be compared\..*\n {2}conforms +\d+ requirements\n$/,
  )
})

/** Publishes the folder to a registry. */
const publishTo = ({ host }: { readonly host: string }, place: string, ...args: string[]) =>
  inside(['publish', place, '--registry', `http://${host}/npm/`, ...args], folder, { BULKHEAD_REGISTRY_TOKEN: 'mine' })

async function tarballOf(place: string, version: string): Promise<Uint8Array> {
  await inside(['pack', place], folder)
  rmSync(join(place, 'bulkhead.integrity.json'))
  return readFileSync(join(folder, `greeter-${version}.tgz`))
}

it('compares with the last version, refuses one that exists, and sends the token only to its host', LONG, async () => {
  const place = extension(PACKAGE)
  await using other = await registry(201)
  await using first = await registry(201, { '1.2.0': await tarballOf(place, '1.2.0') })
  const duplicate = await publishTo(first, place)
  expect([duplicate.code, duplicate.stderr]).toEqual([1, expect.stringMatching(joined(
    /InstallSourceInvalid http:\S+ has @acme\/greeter 1\.2\.0 already, and a published version cannot be /,
    /replaced\. Raise the version/,
  ))])

  const change = (version: string) => {
    const manifest = JSON.parse(readFileSync(join(place, 'bulkhead.json'), 'utf8')) as { tools: object[] }
    writeFileSync(
      join(place, 'bulkhead.json'),
      JSON.stringify({ ...manifest, version, tools: manifest.tools.map((tool) => ({ ...tool, name: 'welcome' })) }),
    )
    writeFileSync(join(place, 'index.js'), 'export default { tools: { welcome: { execute: async () => "hi" } } }')
    writeFileSync(join(place, 'package.json'), JSON.stringify({ ...PACKAGE, version }))
  }
  change('1.2.1')
  const low = await publishTo(first, place)
  expect([low.code, low.stdout]).toEqual([1, ''])
  expect(low.stderr).toMatch(/major\n {2}tool greet[\s\S]*needs 2\.0\.0, has 1\.2\.1\n\nNothing was sent\.\n$/)
  expect(JSON.parse((await publishTo(first, place, '--json')).stdout)).toMatchObject({
    published: false, ok: false, last: '1.2.0', changes: { required: 'major', ok: false }, conformance: null,
    name: '@acme/greeter', version: '1.2.1', tag: 'next', access: 'public', registry: `http://${first.host}/npm/`,
    authorized: true, provenance: false,
    files: expect.arrayContaining(['README.md', 'bulkhead.json', 'bulkhead.integrity.json', 'package.json']),
  })
  expect(first.sent).toEqual([])
  change('2.0.0')
  const { code, stdout, stderr } = await inside(['publish', place], folder, npmrc(first, other))
  expect([code, stdout]).toEqual([0, `Published @acme/greeter@2.0.0 to http://${first.host}/npm/\n`])
  expect(stderr).toMatch(/ {2}changes +since 1\.2\.0: needs 2\.0\.0, has 2\.0\.0\n {2}conforms +\d+ requirements\n$/)
  const [{ url, method, authorization, body }] = first.sent as [Sent]
  expect([url, method, authorization, other.sent]).toEqual(['/npm/@acme%2fgreeter', 'PUT', 'Bearer mine', []])
  const tarball = Buffer.from(body['_attachments']['@acme/greeter-2.0.0.tgz']!.data, 'base64')
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  expect(stderr).toContain(`  tarball  ${integrity}\n`)
  expect(body).toMatchObject({
    'access': 'public', 'dist-tags': { next: '2.0.0' },
    'versions': { '2.0.0': { readme: '# Greeter\n', dist: { integrity } } },
  })
  const compared = await inside(['diff', PACKAGE.name, place, '--registry', `http://${first.host}/npm/`], folder)
  expect(compared).toMatchObject({ code: 0, stdout: expect.stringContaining('greeter 1.2.0 to 2.0.0') })
  expect(
    await inside(['diff', '@acme/greeter@1.2.0', place, '--registry', `http://${first.host}/npm/`, '--json'], folder),
  ).toMatchObject({ code: 0 })
  expect(
    await inside(['diff', '@acme/gone', place, '--registry', `http://${first.host}/other/`], folder),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^InstallSourceInvalid The registry (?:has no package "@acme\/gone"|returns another package)/,
    ),
  })
})

it('publishes nothing that does not conform to the registry that package.json names', LONG, async () => {
  await using named = await registry(201)
  const place = extension({ ...PACKAGE, publishConfig: { registry: `http://${named.host}/` } })
  writeFileSync(join(place, 'index.js'), 'throw new Error("too early")')
  const npm = { BULKHEAD_REGISTRY: 'http://127.0.0.1:1/', [`npm_config_//${named.host}/:_authToken`]: 'named' }
  const { code, stderr } = await inside(['publish', place], folder, npm)
  expect(stderr).toContain(`  registry http://${named.host}/\n`)
  expect(stderr).toMatch(joined(
    / {2}changes +none: the registry has no version of it\n/,
    /[\s\S]*FAIL {2}[\s\S]*too early[\s\S]*It does not conform\.\n\nNothing was sent\.\n$/,
  ))
  expect([code, named.sent]).toEqual([1, []])
})

it.each([
  [
    403, '{"error":"You cannot publish over the previously published versions: 1.2.0."}',
    /^InstallSourceInvalid.* has @acme\/greeter 1\.2\.0 already/,
  ],
  [403, '{}', /^InstallSourceUnavailable.*1\.2\.0 was not published to \S+: The registry does not allow it\./],
  [409, '{}', /^InstallSourceInvalid.* has @acme\/greeter 1\.2\.0 already/],
  [404, '{}', /^InstallSourceUnavailable.*The registry has no such package or scope/],
  [401, '{}', /^InstallSourceUnavailable.*did not accept the credentials/],
])('a registry that answers %i %s has a message of its own', async (status, answer, message) => {
  await using server = await registry(status, {}, answer)
  const files = new Map([['package.json', Buffer.from(JSON.stringify(PACKAGE))]])
  const publication = planPublication({ extension: { version: '1.2.0' }, files, tarball: Buffer.from('') })
  const publishing = publishPackage(publication, {
    registry: { url: `http://${server.host}/npm/`, token: 'mine' }, provenance: false,
  })
  await expect(publishing.catch((error: BulkheadError) => `${error.code} ${error.message}`)).resolves.toMatch(message)
})

it.each<[string, object | undefined, RegExp]>([
  ['no package.json', undefined, /^There is no package\.json, and a registry needs it\./],
  [
    'another version', { ...PACKAGE, version: '1.0.0' },
    /^package\.json has version "1\.0\.0", and bulkhead\.json has 1\.2\.0\./,
  ],
  ['no name', { version: '1.2.0' }, /^package\.json needs a name/],
  ['a private package', { ...PACKAGE, private: true }, /^package\.json has "private"/],
  ['an install script', { ...PACKAGE, scripts: { postinstall: 'x' } }, /^package\.json has the script "postinstall"/],
  [
    'an unknown access', { ...PACKAGE, publishConfig: { access: 'all' } },
    /^package\.json has another publishConfig\.access/,
  ],
])('refuses %s', (_, packageJson, message) => {
  const files = new Map(packageJson ? [['package.json', Buffer.from(JSON.stringify(packageJson))]] : [])
  const packed = { extension: { version: '1.2.0' }, files, tarball: Buffer.from('') }
  expect(() => planPublication(packed)).toThrow(message)
})

it('states provenance where a CI job has an identity', () => {
  expect(
    [
      {}, { GITHUB_ACTIONS: 'true' }, { GITHUB_ACTIONS: 'true', ACTIONS_ID_TOKEN_REQUEST_URL: 'https://x' },
      { GITLAB_CI: 'true', SIGSTORE_ID_TOKEN: 'x' }, { SIGSTORE_ID_TOKEN: 'x' },
    ].map(canStateProvenance),
  ).toEqual([false, false, true, true, false])
})

it('signs nothing without an identity', async () => {
  expect(await inside(['sign', 'weather-1.0.0.tgz'], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^SigningFailed There is no identity token\./),
  })
})
