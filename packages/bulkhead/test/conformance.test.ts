import { generateKeyPairSync } from 'node:crypto'
import {
  appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import {
  conform, HOST_REQUIREMENTS, REQUIREMENTS, verifyHost, type HostTarget, type Report,
} from '@bulkhead/conformance'
import { conformanceReportSchema } from '@bulkhead/contract/validation'
import { packFolder } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { runsIf } from '../../../scripts/skips.ts'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { brokenBy, expectEachBroken, faultsIn } from '../../conformance/test/ports/gate.ts'
import { loaderOptions } from '../src/facade/loader-options.ts'
import { createHost, openSqliteStore } from '../src/index.ts'
import { inside } from './command-inside.ts'
import { FAULTY_HOSTS } from './host-faults.ts'
import { joined } from './joined.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-check-command-')) })
afterEach(() => rmSync(folder, { recursive: true }))

/** The checks of the life cycle start two dozen processes. The next test runs them in threads. */
const CHECKS = thoroughly(['--only', Object.keys(REQUIREMENTS).filter((group) => group !== 'lifecycle').join()], [])

it('a new extension conforms, installs and runs', async () => {
  const made = await inside(['new', 'word-count'], folder)
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('npm test') })
  const written = readdirSync(join(folder, 'word-count'))
  const files = ['--junit', 'report.xml', '--badge', 'badge.svg']
  const checked = await inside(['conformance', 'word-count', '--json', '--quiet', ...files, ...CHECKS], folder)
  const report = JSON.parse(checked.stdout) as Report
  expect(report.checks.filter(({ ok }) => ok === false).map(({ id }) => id)).toEqual(
    ['package-repository', 'package-provenance'])
  expect(checked).toMatchObject({ code: 0, stderr: '' })
  expect(conformanceReportSchema.parse(report)).toEqual(report)
  expect(report).toMatchObject({
    extension: { id: 'word-count', version: '0.1.0' }, digest: expect.stringMatching(/^[0-9a-f]{128}$/), seed: 1,
    summary: { must: { failed: 0, skipped: 0 }, conforms: true },
  })
  expect(readFileSync(join(folder, 'report.xml'), 'utf8')).toContain('failures="0"')
  expect(readFileSync(join(folder, 'badge.svg'), 'utf8')).toContain('conformance')
  // The check changed no file.
  expect(readdirSync(join(folder, 'word-count'))).toEqual(written)
  writeFileSync(join(folder, 'notes.md'), 'one two three\n')
  expect(await inside(['install', './word-count', '--yes'], folder)).toMatchObject({ code: 0 })
  const call = ['call', 'word-count', '--args', '{"path":"notes.md"}']
  expect(await inside(call, folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ApprovalDenied[\s\S]*bulkhead explain/),
  })
  expect(JSON.parse((await inside([...call, '--mode', 'yolo'], folder)).stdout)).toEqual({ path: 'notes.md', words: 3 })
})

const IN_THREADS = { ...runsIf(thoroughly(true, false), 'pnpm soak tests more'), ...LONG }

it('the life cycle of a new extension conforms', IN_THREADS, async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  const { extension } = await packFolder(join(folder, 'word-count'), {
    loader: loaderOptions(join(folder, 'home/.bulkhead')),
  })
  const sandbox = createSandbox({ workspace: folder, spares: { thread: 0 } })
  onTestFinished(() => sandbox.close())
  const inThreads: typeof sandbox = { ...sandbox, open: (options) => sandbox.open({ ...options, placement: 'thread' }) }
  const results = await conform({ extension, sandbox: inThreads, workspace: folder }, { only: ['lifecycle'] })
  expect(results.map(({ id, ok }) => [id, ok])).toEqual(REQUIREMENTS.lifecycle.map(({ id }) => [id, true]))
})

it('a violation is reported once, with the requirement and the reason', async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  writeFileSync(join(folder, 'word-count/index.js'), 'export default { tools: {} }')
  const { code, stdout } = await inside(['check', 'word-count', '--only', 'exports,abort'], folder)
  expect(code).toBe(1)
  expect(stdout).toMatch(joined(
    /FAIL {2}exports: The code loads .*\n/,
    / +open: ExportsMismatch: .*word-count[\s\S]*skip {2}5 of the checks could not run[\s\S]*It does not /,
    /conform\./,
  ))
  expect(stdout.match(/ExportsMismatch/g)).toHaveLength(1)
})

it('an extension with required configuration starts with the given one', LONG, async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  const at = join(folder, 'word-count/bulkhead.json')
  const configSchema = {
    type: 'object', properties: { units: { type: 'string' } }, required: ['units'], additionalProperties: false,
  }
  writeFileSync(at, JSON.stringify({ ...JSON.parse(readFileSync(at, 'utf8')) as object, configSchema }))
  writeFileSync(join(folder, 'word-count/index.js'), `export default {
    init({ config }) { if (config.units !== 'metric') throw new Error('no units') },
    tools: { 'word-count': { execute: () => 1 } },
  }`)
  // Each check starts processes, those of the life cycle dozens. The one below fails without the configuration.
  if (thoroughly(false, true))
    expect(await inside(['check', 'word-count', '--only', 'lifecycle-order'], folder)).toMatchObject({
      code: 1, stdout: expect.stringMatching(/no units/),
    })
  expect(
    await inside(
      [
        'check', 'word-count', '--config', '{"units":"metric"}', '--only',
        thoroughly('call-survives', 'lifecycle-order'),
      ],
      folder,
    ),
  ).toMatchObject({ code: 0 })
  expect(await inside(['check', 'word-count', '--config', '{"units":7}'], folder)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^ConfigSchemaViolation The configuration at \/extensions\/word-count\/config\/units /,
    ),
  })
})

it('code that cannot be parsed is neither checked nor packed, and the error names the line', async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  const written = readdirSync(join(folder, 'word-count'))
  writeFileSync(join(folder, 'word-count/index.js'), 'export default {\n  tools: {{\n}')
  for (const command of ['check', 'pack']) {
    expect(await inside([command, 'word-count'], folder)).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^CompartmentStartFailed index\.js, line 2, cannot be parsed: /),
    })
  }
  expect(readdirSync(join(folder, 'word-count'))).toEqual(written)
  expect(readdirSync(folder)).toEqual(['word-count'])
})

it('`new` overwrites nothing, and rejects a name that is not an id', async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  const before = readFileSync(join(folder, 'word-count/index.js'), 'utf8')
  expect(await inside(['new', 'word-count', '--template', 'tool'], folder)).toMatchObject({
    code: 1, stderr: expect.stringContaining('is not empty'),
  })
  expect(readFileSync(join(folder, 'word-count/index.js'), 'utf8')).toBe(before)
  expect(await inside(['new', 'Word Count'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('is not a valid extension id'),
  })
  expect(await inside(['check', 'x'.repeat(300)], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^InstallSourceInvalid .*cannot be read/),
  })
  expect(await inside(['check', 'word-count', '--seed', 'x'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('--seed must be'),
  })
  expect(await inside(['check', 'word-count', '--only', 'abrot'], folder)).toMatchObject({
    code: 1, stderr: expect.stringContaining('"abort"'),
  })
  expect(await inside(['check', 'word-cuont'], folder)).toMatchObject({
    code: 1, stderr: expect.stringContaining('is not installed'),
  })
  expect(await inside(['check', 'word-count', '--config', '[]'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('must be a JSON object'),
  })
  expect(await inside(['check', 'word-count', '--fix', '--only', 'powers'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('Leave out --only.'),
  })
  expect(await inside(['check', 'word-count.tgz', '--fix'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('"word-count.tgz" is not one'),
  })
  expect(await inside(['check', 'word-count', '--attest', '--only', 'powers'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('--attest needs the whole suite'),
  })
  expect(await inside(['check', 'word-count', '--key', 'k.pem'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('--key is for --attest'),
  })
  expect(await inside(['check', 'word-count', '--attest'], folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^SigningFailed There is no identity token/),
  })
  expect(await inside(['check', 'word-count', '--attest', '--key', 'k.pem'], folder)).toMatchObject({
    code: 2, stderr: expect.stringContaining('"k.pem" cannot be read'),
  })
  expect(readdirSync(folder)).toEqual(['word-count'])
})

/** It runs the whole suite. */
it.each(thoroughly([], ['signed']))('%s results prove conformance to a host that requires it', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  writeFileSync(join(folder, 'key.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const key = publicKey.export({ format: 'pem', type: 'spki' }).toString()
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  writeFileSync(
    join(folder, 'home/.bulkhead/config.json'),
    JSON.stringify({ policy: { conformance: { require: true, signers: [{ key }] } } }),
  )
  await inside(['new', 'word-count'], folder)
  await inside(['pack', 'word-count'], folder)
  const install = ['install', 'word-count-0.1.0.tgz', '--yes']
  expect(await inside(install, folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ConformanceUnproven .*--attestation FILE/),
  })
  expect(await inside(['conformance', 'word-count', '--attest', '--key', 'key.pem'], folder)).toMatchObject({
    code: 0, stdout: expect.stringContaining(`Wrote ${join(folder, 'word-count-0.1.0.conformance.json')}`),
  })
  expect(await inside(install, folder)).toMatchObject({
    code: 0, stderr: expect.stringContaining('attested by a pinned key'),
  })
  // The source has changed, so the proof is about another package.
  appendFileSync(join(folder, 'word-count/README.md'), 'More.\n')
  await inside(['pack', 'word-count'], folder)
  expect(await inside(install, folder)).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ConformanceUnproven .*with other files/),
  })
})

it('an installation says whether a package is attested, and refuses one with a wrong attestation', async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  await inside(['pack', 'word-count'], folder)
  const install = () => inside(['install', './word-count-0.1.0.tgz', '--dry-run'], folder)
  expect(await install()).toMatchObject({ code: 0, stderr: expect.stringMatching(/^ {2}conforms not attested$/m) })
  writeFileSync(join(folder, 'word-count-0.1.0.conformance.json'), '{}')
  expect(await install()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^ConformanceUnproven \S*word-count-0\.1\.0\.conformance\.json is not a sigstore bundle/,
    ),
  })
})

it('an unusable temporary folder is reported with the variable to set', async () => {
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  expect(await inside(['check', 'word-count'], folder, { TMPDIR: join(folder, 'nowhere') }))
    .toMatchObject({ code: 1, stderr: expect.stringMatching(/^InstallFailed .* Set TMPDIR to a writable folder\.\n$/) })
})

it('our host meets every requirement on hosts, as the program of docs/guides/verifying.md shows', LONG, async () => {
  const root = join(import.meta.dirname, '../../..')
  const page = readFileSync(join(root, 'docs/guides/verifying.md'), 'utf8')
  const block = (info: string): string =>
    new RegExp('^```' + info.replace('.', '\\.') + '\\n([\\s\\S]*?)^```', 'm').exec(page)![1]!
  mkdirSync(join(folder, 'node_modules/@bulkhead'), { recursive: true })
  symlinkSync(join(root, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
  symlinkSync(join(root, 'packages/conformance'), join(folder, 'node_modules/@bulkhead/conformance'))
  writeFileSync(join(folder, 'verify.ts'), block('ts verify.ts'))
  const printed: unknown[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((text: unknown) => void printed.push(text))
  try {
    await import(pathToFileURL(join(folder, 'verify.ts')).href)
  } finally {
    log.mockRestore()
  }
  expect(`${printed.join('\n')}\n`).toBe(block('text'))
})

it('each requirement on a host can be broken', () => expectEachBroken(HOST_REQUIREMENTS, FAULTY_HOSTS))

const host: HostTarget = {
  async create({ workspace, home }) {
    const store = await openSqliteStore({ file: join(home, 'store.db') })
    const config = { isolation: { global: 'thread' }, sandbox: { spares: { thread: 0 } } } as const
    const made = await createHost({ workspace, home, store, trust: 'declined', config })
    return { ...made, audit: async () => (await made.flush(), store.records()) }
  },
}
it.each(thoroughly([], Object.entries(FAULTY_HOSTS)))('finds a host that %s', async (_, { breaks, wrap }) => {
  const only = brokenBy(HOST_REQUIREMENTS, breaks)
  const target: HostTarget = { create: async (place) => wrap(await host.create(place)) }
  expect(faultsIn(await verifyHost(target, { only, patienceMs: 5000 }))).toEqual(breaks.toSorted())
})
