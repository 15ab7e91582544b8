import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConformanceReport, ExtensionDescriptor } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll } from 'vitest'
import { resolveConfig } from '../../src/config/resolve-config.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { checkConformance, type ConformanceSources } from '../../src/install/conformance.ts'
import { parseInstallSpec } from '../../src/install/obtain-package.ts'
import { conformanceStatement } from '../../src/signature/conformance.ts'
import { sign, type Signing } from '../../src/signature/sign.ts'
import { HomeFixture } from '../home-fixture.ts'
import { BUILD, SigstoreFixture } from '../signature/sigstore-fixture.ts'
import { installerFor, packageFiles, tarballOf } from './install-fixture.ts'

export const pems = (pair: Readonly<Record<'privateKey' | 'publicKey', KeyObject>>) => ({
  key: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  publicKey: pair.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
})
export const OWN = pems(generateKeyPairSync('ed25519'))
export const OTHER = pems(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
/** The build of acme/weather that signs keyless. */
export const PUBLISHER = { issuer: BUILD.iss, repository: 'https://github.com/acme/weather' }

export let home: HomeFixture
export let sigstore: SigstoreFixture
let extension: ExtensionDescriptor
export const SPEC = 'weather-1.0.0.tgz'
/** Prepares a package and a signing service for all tests of a file. */
export function useAttestedPackage(): void {
  beforeAll(async () => {
    home = new HomeFixture()
    sigstore = await SigstoreFixture.start()
    proof = undefined
    writeFileSync(join(home.base, SPEC), await tarballOf(packageFiles()))
    ;({ extension } = await installerFor(home).plan(SPEC))
  })
  afterAll(async () => {
    home[Symbol.dispose]()
    await sigstore[Symbol.asyncDispose]()
  })
}

export const counts = { passed: 0, failed: 0, skipped: 0 }
export const reportOf = (change: Partial<ConformanceReport> = {}): ConformanceReport => ({
  extension: { id: 'weather', version: '1.0.0' }, digest: extension.digests.package, seed: 1,
  host: { version: '1.0.0', node: 'v26.0.0', platform: 'linux x64' },
  checks: [
    { id: 'call-survives', group: 'calls', level: 'must', ok: true },
    { id: 'package-readme', group: 'package', level: 'should', ok: false, evidence: 'there is no README' },
  ],
  summary: { must: counts, should: counts, conforms: true }, ...change,
})

export const attest = (signing: Signing, change: Partial<ConformanceReport> = {}): Promise<JsonObject> =>
  sign({ statement: conformanceStatement(reportOf(change)) }, signing)

/** Made once: each takes a certificate, a log entry and a timestamp. */
let proof: Promise<JsonObject> | undefined
export const keyless = (): Promise<JsonObject> => (proof ??= signKeyless())

async function signKeyless(): Promise<JsonObject> {
  process.env['SIGSTORE_ID_TOKEN'] = sigstore.tokenOf()
  try {
    return await attest({ trustRoot: sigstore.trustRoot })
  } finally {
    delete process.env['SIGSTORE_ID_TOKEN']
  }
}

export interface Given {
  readonly policy?: unknown
  /** The text of the configuration of the user, instead of the policy. */
  readonly config?: string
  /** The configuration of the project, into which it is installed then. */
  readonly project?: unknown
  /** The policy of the machine. */
  readonly machine?: unknown
  /** Written to a file. */
  readonly attestation?: unknown
  readonly from?: ConformanceSources
}

/** `attested by …`, or the step and the message of the refusal. */
export async function outcome({ policy, config, project, machine, attestation, from }: Given): Promise<string> {
  home.write(join(home.globalRoot, 'config.json'), config ?? { policy: { conformance: policy } })
  if (project !== undefined) home.write(join(home.projectRoot, 'config.json'), { policy: { conformance: project } })
  if (attestation !== undefined) home.write(join(home.base, 'proof.json'), attestation as object)
  const file = join(home.base, 'machine', 'policy.json')
  if (machine !== undefined) {
    home.write(file, machine as object)
    for (const path of [home.base, join(file, '..'), file]) chmodSync(path, 0o755)
  }
  const roots = {
    global: home.globalRoot, ...(machine !== undefined && { machine: { file, owners: [0, process.getuid?.() ?? 0] } }),
  }
  const resolution = resolveConfig(
    resolveSettings(home.options({ roots })), project === undefined ? null : home.projectRoot, undefined,
  )
  const sources = from ?? {
    spec: parseInstallSpec(SPEC, home.base), attestations: null,
    ...(attestation !== undefined && { file: join(home.base, 'proof.json') }),
  }
  try {
    const { attestedBy, warnings } = await checkConformance(extension, resolution, sources, sigstore.trustRoot)
    const said = warnings.map((text) => `, warned: ${text.replaceAll(`${home.base}/`, '')}`).join('')
    return (attestedBy === null ? 'not attested' : `attested by ${attestedBy}`) + said
  } catch (error) {
    const { code, message, data } = error as { code: string; message: string; data?: { step: string } }
    return `${code} ${data?.step}: ${message.replaceAll(`${home.base}/`, '')}`
  } finally {
    for (const root of [home.globalRoot, home.projectRoot]) rmSync(join(root, 'config.json'), { force: true })
  }
}

export const failed: Partial<ConformanceReport> = {
  checks: [{ id: 'abort', group: 'abort', level: 'must', ok: false }],
  summary: { must: counts, should: counts, conforms: false },
}
export const ownKey = { key: OWN.publicKey }

export const otherSuite = (): JsonObject => {
  const statement = conformanceStatement(reportOf()) as JsonObject & { predicate: JsonObject }
  return { ...statement, predicate: { ...statement.predicate, configuration: [{ name: 'another' }] } }
}

export const tampered = (bundle: JsonObject): JsonObject => {
  const text = JSON.stringify(bundle)
  const { payload } = bundle['dsseEnvelope'] as { payload: string }
  const changed = Buffer.from(payload, 'base64').toString().replace('"seed":1', '"seed":2')
  return JSON.parse(text.replace(payload, Buffer.from(changed).toString('base64'))) as JsonObject
}

export const unlogged = (bundle: JsonObject): JsonObject => ({
  ...bundle,
  verificationMaterial: {
    ...(bundle['verificationMaterial'] as JsonObject), tlogEntries: [],
    timestampVerificationData: { rfc3161Timestamps: [] },
  },
})
