import type { Loader } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { createLoader, inspectPackage } from '@bulkhead/loader'
import { homeFolder } from '../../facade/folders.ts'
import { canonicalFolder, loaderOptions } from '../../facade/loader-options.ts'
import { defineCommand, UsageError, type ValuesOf } from '../command.ts'
import { COMMON_OPTIONS } from '../host-options.ts'
import { diagnosticText, printJson, sizeInWords, table } from '../output.ts'
import { extensionJson, extensionLines, line } from '../review.ts'

export const verify = defineCommand({
  usage: '[DIR|TGZ]',
  operands: { 'DIR|TGZ': { text: 'folder or tarball (default: all installed extensions)', completes: 'file' } },
  options: COMMON_OPTIONS,
  exits: ['if everything was verified', 'if something was not'],
  examples: [
    { command: 'bulkhead verify', text: 'every installed extension' },
    { command: 'bulkhead verify word-count-0.1.0.tgz', text: 'a tarball, before you install it' },
  ],

  async run({ values, positionals }) {
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
})

async function verifyInstalled(values: ValuesOf<typeof COMMON_OPTIONS>, loader: Loader): Promise<number> {
  const { extensions, diagnostics, trustRoot } = await loader.load({
    workspace: await canonicalFolder(values.workspace), trust: values['trust-project'] ? 'once' : 'declined',
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
      process.stdout.write(`Trust root: ${visibleText(trustRoot.source)}, ${trustRoot.ageDays} days old.\n`)
    }
  }
  return diagnostics.some(({ severity }) => severity === 'error') ? 1 : 0
}
