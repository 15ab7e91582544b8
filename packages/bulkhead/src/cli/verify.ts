import type { Loader } from '@bulkhead/contract'
import { createLoader, inspectPackage } from '@bulkhead/loader'
import { homeFolder } from '../facade/folders.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { workspaceFolder } from './install.ts'
import { diagnosticText, printJson, table } from './output.ts'
import { type Command, UsageError } from './command.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, readOptions, type HostValues } from './host-options.ts'
import { extensionJson, extensionLines, line } from './plan-text.ts'
import { sizeInWords } from './progress.ts'

export const verify: Command = {
  usage: 'bulkhead verify [DIR|TGZ] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `  DIR|TGZ           folder or tarball (default: all installed extensions)
${COMMON_DETAILS}

Exit code: 0 if everything was verified, 1 if something was not, 2 for wrong usage.`,

  async run(args) {
    const { values, positionals } = readOptions(args, COMMON_OPTIONS)
    const [path, ...more] = positionals
    if (more.length > 0) throw new UsageError('Name at most one folder or tarball after "verify".')
    // Do not use cached results of earlier verifications.
    const { cache: _, ...options } = loaderOptions(homeFolder(values.home))
    if (path === undefined) return verifyInstalled(values, createLoader(options))
    // Unlike for `install`, a bare word is a path here.
    const { extension, warnings, files, bytes } = await inspectPackage(
      /^[./]/.test(path) ? path : `./${path}`, process.cwd(), options,
    )
    if (values.json) printJson({ verified: true, ...extensionJson(extension), files, bytes, warnings })
    else {
      process.stdout.write([
        ...extensionLines(extension), line('size', `${files} files, ${sizeInWords(bytes)}`),
        ...warnings.map((text) => line('warning', text)), '',
      ].join('\n'))
    }
    return 0
  },
}

async function verifyInstalled(
  values: HostValues & { readonly json?: boolean | undefined }, loader: Loader,
): Promise<number> {
  const { extensions, diagnostics, trustRoot } = await loader.load({
    workspace: workspaceFolder(values.workspace), trust: values['trust-project'] ? 'once' : 'declined',
    projectDigest: 'any',
  })
  const installed = extensions.filter(({ layer }) => layer !== 'bundled')
  if (values.json) {
    const listed = installed.map((extension) => ({ layer: extension.layer, ...extensionJson(extension) }))
    printJson({ extensions: listed, diagnostics, trustRoot })
  } else {
    const nothing = diagnostics.length === 0 ? 'Nothing is installed.\n' : 'No installed extension can be used.\n'
    process.stdout.write(installed.length === 0 ? nothing : table(
      ['ID', 'VERSION', 'LAYER', 'INTEGRITY', 'DIGEST', 'SIGNED BY'],
      installed.map(({ id, version, layer, integrity, digests, signer }) =>
        [id, version, layer, integrity, digests.package.slice(0, 12), signer?.subject ?? '-'])))
    process.stdout.write(diagnostics.map((found) => diagnosticText(found)).join(''))
    if (typeof trustRoot?.ageDays === 'number') {
      process.stdout.write(`Trust root: ${trustRoot.source}, ${trustRoot.ageDays} days old.\n`)
    }
  }
  return diagnostics.some(({ severity }) => severity === 'error') ? 1 : 0
}
