import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import type { LoaderOptions } from '../../src/config/settings.ts'
import { writeTarball } from '../../src/files/tar-format.ts'
import type { InstallerOptions, InstallPlan } from '../../src/install/install-plan.ts'
import { Installer } from '../../src/install/installer.ts'
import { manifestOf, toolOf, type HomeFixture } from '../home-fixture.ts'

type Files = Readonly<Record<string, string | object>>
interface Options extends Partial<Omit<InstallerOptions, 'loader'>> {
  readonly loader?: Partial<LoaderOptions>
}

export const installerFor = (home: HomeFixture, { loader = {}, ...over }: Options = {}): Installer =>
  new Installer({ layer: 'global', workspace: home.workspace, cwd: home.base, ...over, loader: home.options(loader) })

/** A package that requires these hosts. */
export const packageFiles = (
  version = '1.0.0', hosts: readonly string[] = ['a.example'], over: Record<string, unknown> = {},
  tool: Record<string, unknown> = {},
): Files => ({
  'bulkhead.json': manifestOf({ version, tools: [toolOf({ requires: { net: { hosts } }, ...tool })], ...over }),
  'index.js': `export default ${JSON.stringify(version)}`, 'lib/more.js': 'export const more = 1',
})

export const tarballOf = (files: Files): Promise<Uint8Array> =>
  writeTarball(new Map(Object.entries(files).map(([path, content]) => [
    path, Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
  ])))

/** A folder outside of all layers, to install from. */
export function folderOf(home: HomeFixture, files: Files, name = 'weather-source'): string {
  for (const [path, content] of Object.entries(files)) home.write(join(home.base, name, path), content)
  return `./${name}`
}

/** Plans and installs with consent. */
export async function install(installer: Installer, spec: string): Promise<InstallPlan> {
  const plan = await installer.plan(spec)
  await installer.install(plan, 'ann')
  return plan
}

/** `done`, or the code of the error. */
export const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
    return 'done'
  } catch (error) {
    return BulkheadError.from(error).code
  }
}
