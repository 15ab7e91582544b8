import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ConfigFile, ExtensionModule, LoadReport, ManifestInput, ProjectTrust } from '@bulkhead/contract'
import type { LoaderOptions } from '../src/config/settings.ts'
import { createLoader } from '../src/load/loader.ts'

const CORE_VERSION = '1.2.3'

/** A minimal valid manifest, with overrides. */
export function manifestOf(
  over: Partial<ManifestInput> & Record<string, unknown> = {},
): ManifestInput & Record<string, unknown> {
  const id = typeof over.id === 'string' ? over.id : 'weather'
  return {
    kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id, version: '1.4.0',
    tools: [toolOf({ name: `${id}_tool` })],
    ...over,
  }
}

export function toolOf(over: Record<string, unknown> = {}): ManifestInput['tools'][number] {
  return {
    name: 'forecast', description: 'What the weather will be.',
    inputSchema: {
      type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false,
    },
    ...over,
  }
}

export const emptyModule: ExtensionModule = { tools: {} }

type Content = string | Uint8Array | object
const bytesOf = (content: Content): string | Uint8Array =>
  typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content)
const oneModule: Readonly<Record<string, Content>> = { 'index.js': 'export default {}' }

/** A temporary home folder and workspace. Removed on dispose. */
export class HomeFixture {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-loader-')))
  readonly globalRoot = join(this.base, 'home', '.bulkhead')
  readonly workspace = join(this.base, 'work')
  readonly projectRoot = join(this.workspace, '.bulkhead')

  constructor() {
    mkdirSync(this.globalRoot, { recursive: true })
    mkdirSync(this.workspace, { recursive: true })
  }

  write(path: string, content: Content): string {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytesOf(content))
    return path
  }

  /** Writes an extension folder into a layer. Default: a manifest and a module. */
  extension(root: string, folder: string, manifest: Content = manifestOf({ id: folder }), files = oneModule): string {
    const location = join(root, 'tools', folder)
    this.write(join(location, 'bulkhead.json'), manifest)
    for (const [path, content] of Object.entries(files)) this.write(join(location, path), content)
    return location
  }

  options(over: Partial<LoaderOptions> = {}): LoaderOptions {
    return { coreVersion: CORE_VERSION, roots: { global: this.globalRoot }, bundled: [], ...over }
  }

  /** Loads without the warnings about unsigned packages. */
  async load(
    over: Partial<LoaderOptions> = {}, trust: ProjectTrust = 'trusted', overrides?: ConfigFile,
  ): Promise<LoadReport> {
    const report = await this.loadAsItIs(over, trust, overrides)
    return {
      ...report,
      diagnostics: report.diagnostics.filter(({ stage, severity }) => stage !== 'lock' || severity === 'error'),
    }
  }

  loadAsItIs(
    over: Partial<LoaderOptions> = {}, trust: ProjectTrust = 'trusted', overrides?: ConfigFile,
  ): Promise<LoadReport> {
    return createLoader(this.options(over)).load(
      { workspace: this.workspace, trust, projectDigest: 'any', ...(overrides !== undefined && { overrides }) },
    )
  }

  [Symbol.dispose](): void {
    rmSync(this.base, { recursive: true, force: true })
  }
}
