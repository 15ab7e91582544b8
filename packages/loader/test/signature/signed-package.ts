import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { type HomeFixture, manifestOf } from '../home-fixture.ts'

const digestOf = (algorithm: string, data: string): string => createHash(algorithm).update(data).digest('hex')

/** The files of a package and its integrity file, written by hand from the format and not with the tested code. */
export class PackageFixture {
  readonly id: string
  readonly files: Readonly<Record<string, string>>
  readonly integrityFile: string

  constructor(id = 'weather', version = '1.4.0', over: Parameters<typeof manifestOf>[0] = {}) {
    this.id = id
    this.files = {
      'bulkhead.json': JSON.stringify(manifestOf({ id, version, ...over })), 'index.js': 'export default {}',
    }
    const digests = Object.entries(this.files).map(([path, text]) => [path, digestOf('sha512', text)] as const)
    const root = digestOf('sha512', digests.map(([path, digest]) => `${path}\0${digest}\n`).join(''))
    this.integrityFile = JSON.stringify({ algorithm: 'sha512', files: Object.fromEntries(digests), root })
  }

  /** A provenance statement about the integrity file. */
  statement(over: JsonObject = {}): Json {
    return {
      _type: 'https://in-toto.io/Statement/v1', subject: [this.subject()],
      predicateType: 'https://slsa.dev/provenance/v1',
      predicate: { buildDefinition: {} }, ...over,
    }
  }

  subject(algorithm = 'sha256', data = this.integrityFile): JsonObject {
    return { name: 'bulkhead.integrity.json', digest: { [algorithm]: digestOf(algorithm, data) } }
  }

  install(home: HomeFixture, bundle: Json | undefined, root = home.globalRoot): string {
    const { 'bulkhead.json': manifest, ...others } = this.files
    return home.extension(root, this.id, manifest, {
      ...others, 'bulkhead.integrity.json': this.integrityFile,
      ...(bundle !== undefined && { 'bulkhead.sigstore.json': JSON.stringify(bundle) }),
    })
  }
}
