import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  BulkheadError, type ConfigFile, type ErrorCode, type ExtensionDescriptor, type LoadReport, type ProjectStanding,
} from '@bulkhead/contract'
import type { LoaderOptions } from '../src/config/settings.ts'
import { Installer } from '../src/install/installer.ts'
import { createLoader } from '../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../test/home-fixture.ts'
import { PackageFixture } from '../test/signature/signed-package.ts'
import type { SigstoreFixture } from '../test/signature/sigstore-fixture.ts'

const NEIGHBOUR = 'neighbour'

/**
 * A home with one honest package in it, and room for a hostile one. Whatever that one is, nothing of it may run: each of
 * its files leaves a mark when it does.
 */
export class PackageGround {
  readonly home = new HomeFixture()
  readonly sigstore: SigstoreFixture
  readonly mark = join(this.home.base, 'mark')
  readonly honest = new PackageFixture()

  private constructor(sigstore: SigstoreFixture) {
    this.sigstore = sigstore
  }

  static async lay(sigstore: SigstoreFixture): Promise<PackageGround> {
    const ground = new PackageGround(sigstore)
    const neighbour = new PackageFixture(NEIGHBOUR)
    neighbour.install(ground.home, await sigstore.sign(neighbour.integrityFile))
    return ground
  }

  /** Code that would be noticed. */
  get code(): string {
    return `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(this.mark)}, 'ran')\nexport default {}\n`
  }

  /** A package below the global layer; where it names no files it has one that would be noticed. */
  package(manifest: string | Uint8Array | object = manifestOf(), files: Record<string, string | Uint8Array> = {}): string {
    return this.home.extension(this.home.globalRoot, 'weather', manifest, { 'index.js': this.code, ...files })
  }

  /** A tool and settings of the project's own. */
  project(settings: ConfigFile): void {
    this.home.extension(this.home.projectRoot, 'weather', manifestOf(), { 'index.js': this.code })
    this.home.write(join(this.home.projectRoot, 'config.json'), settings)
  }

  async load(policy: ConfigFile['policy'] = {}, options: Partial<LoaderOptions> = {}, standing?: ProjectStanding): Promise<LoadReport> {
    const over = { trustRoot: this.sigstore.trustRoot, ...options }
    if (standing === undefined) return this.home.load(over, 'trusted', { policy })
    return createLoader(this.home.options(over)).load({ workspace: this.home.workspace, ...standing, overrides: { policy } })
  }

  /** As a person would who looked at it and agreed. */
  async accept(spec: string): Promise<void> {
    const { home: { workspace, base: cwd }, home, sigstore: { trustRoot } } = this
    const installer = new Installer({ layer: 'global', workspace, cwd, loader: home.options({ trustRoot }) })
    await installer.install(await installer.plan(spec), 'ann')
  }

  [Symbol.dispose](): void {
    this.home[Symbol.dispose]()
  }
}

/** What became of the hostile package. */
export interface PackageOutcome {
  /** The code it was refused with, or `loaded`. */
  readonly refused: ErrorCode | 'loaded'
  readonly extension: ExtensionDescriptor | undefined
  /** Whether the honest one is there as before. */
  readonly neighbour: boolean
  /** Whether anything of the hostile one ran. */
  readonly ran: boolean
}

export function outcomeOf({ extensions, diagnostics }: LoadReport, { mark }: PackageGround): PackageOutcome {
  const extension = extensions.find(({ id }) => id !== NEIGHBOUR)
  const error = diagnostics.find(({ severity, stage }) => severity === 'error' || stage === 'trust')
  return {
    refused: extension === undefined ? error?.code ?? 'InternalError' : 'loaded',
    extension,
    neighbour: extensions.some(({ id }) => id === NEIGHBOUR),
    ran: existsSync(mark),
  }
}

/** The files of a package as they would be handed to a compartment: the code they are refused with, or their paths. */
export async function handedOut({ code }: ExtensionDescriptor): Promise<ErrorCode | readonly string[]> {
  if (code.kind !== 'files') return []
  try {
    return [...(await code.readFiles()).keys()].toSorted()
  } catch (error) {
    return BulkheadError.from(error).code
  }
}
