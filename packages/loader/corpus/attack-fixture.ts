import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  BulkheadError, type ConfigFile, type ErrorCode, type ExtensionDescriptor, type LoadReport, type ProjectDecision,
} from '@bulkhead/contract'
import type { LoaderOptions } from '../src/config/settings.ts'
import { Installer } from '../src/install/installer.ts'
import { createLoader } from '../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../test/home-fixture.ts'
import { PackageFixture } from '../test/signature/signed-package.ts'
import type { SigstoreFixture } from '../test/signature/sigstore-fixture.ts'

const NEIGHBOUR = 'neighbour'
const neighbour = new PackageFixture(NEIGHBOUR)
/** Signed once for all fixtures. */
const signatures = new WeakMap<SigstoreFixture, ReturnType<SigstoreFixture['sign']>>()

/**
 * A home folder with a valid package, and a place for a hostile one. No file of the hostile package may run: each would
 * create a marker file.
 */
export class AttackFixture {
  readonly home = new HomeFixture()
  readonly sigstore: SigstoreFixture
  readonly marker = join(this.home.base, 'marker')
  readonly valid = new PackageFixture()

  private constructor(sigstore: SigstoreFixture) {
    this.sigstore = sigstore
  }

  static async create(sigstore: SigstoreFixture): Promise<AttackFixture> {
    const fixture = new AttackFixture(sigstore)
    const signing = signatures.get(sigstore) ?? sigstore.sign(neighbour.integrityFile)
    signatures.set(sigstore, signing)
    neighbour.install(fixture.home, await signing)
    return fixture
  }

  /** Code that creates the marker file. */
  get code(): string {
    return `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(this.marker)}, 'ran')\n`
      + `export default {}\n`
  }

  /** Writes a package to the global layer. By default its module creates the marker file. */
  package(
    manifest: string | Uint8Array | object = manifestOf(), files: Record<string, string | Uint8Array> = {},
  ): string {
    return this.home.extension(this.home.globalRoot, 'weather', manifest, { 'index.js': this.code, ...files })
  }

  /** Writes a project layer with a tool and settings. */
  project(settings: ConfigFile): void {
    this.home.extension(this.home.projectRoot, 'weather', manifestOf(), { 'index.js': this.code })
    this.home.write(join(this.home.projectRoot, 'config.json'), settings)
  }

  async load(
    policy: ConfigFile['policy'] = {}, options: Partial<LoaderOptions> = {}, decision?: ProjectDecision,
  ): Promise<LoadReport> {
    const over = { trustRoot: this.sigstore.trustRoot, ...options }
    if (decision === undefined) return this.home.load(over, 'trusted', { policy })
    return createLoader(this.home.options(over)).load({
      workspace: this.home.workspace, ...decision, overrides: { policy },
    })
  }

  /** Installs a package with the consent of a person. */
  async accept(spec: string): Promise<void> {
    const { home: { workspace, base: cwd }, home, sigstore: { trustRoot } } = this
    const installer = new Installer({ layer: 'global', workspace, cwd, loader: home.options({ trustRoot }) })
    await installer.install(await installer.plan(spec), 'ann')
  }

  [Symbol.dispose](): void {
    this.home[Symbol.dispose]()
  }
}

/** The result for the hostile package. */
export interface PackageOutcome {
  /** The error code, or `loaded`. */
  readonly refused: ErrorCode | 'loaded'
  readonly extension: ExtensionDescriptor | undefined
  /** Whether the valid package still loads. */
  readonly neighbour: boolean
  /** Whether code of the hostile package ran. */
  readonly ran: boolean
}

export function outcomeOf({ extensions, diagnostics }: LoadReport, { marker }: AttackFixture): PackageOutcome {
  const extension = extensions.find(({ id }) => id !== NEIGHBOUR)
  const error = diagnostics.find(({ severity, stage }) => severity === 'error' || stage === 'trust')
  return {
    refused: extension === undefined ? error?.code ?? 'InternalError' : 'loaded',
    extension,
    neighbour: extensions.some(({ id }) => id === NEIGHBOUR),
    ran: existsSync(marker),
  }
}

/** Reads the files of a package like a compartment does. Returns the error code, or the paths. */
export async function readFilesOf({ code }: ExtensionDescriptor): Promise<ErrorCode | readonly string[]> {
  if (code.kind !== 'files') return []
  try {
    return [...(await code.readFiles()).keys()].toSorted()
  } catch (error) {
    return BulkheadError.from(error).code
  }
}
