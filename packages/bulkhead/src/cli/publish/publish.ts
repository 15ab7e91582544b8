import { styleText } from 'node:util'
import { visibleText } from '@bulkhead/kit/text'
import { canStateProvenance, planPublication, publishPackage, type Publication } from '@bulkhead/loader'
import { defineCommand, UsageError } from '../command.ts'
import { readExtensionFolder } from '../extension-source.ts'
import { COMMON_OPTIONS, SOURCE_OPTIONS } from '../host-options.ts'
import { CONFIG_OPTION, readConfig } from './config-option.ts'
import { hint, printJson, sizeInWords } from '../output.ts'
import { fileLines } from './pack.ts'
import { checkPublication } from './publish-checks.ts'
import { npmProject, registryToPublish } from '../registries.ts'
import { extensionJson, extensionLines, line, sourceLines, sourcesJson } from '../review.ts'

export const publish = defineCommand({
  usage: '[DIR]',
  operands: { DIR: { text: 'folder of an extension (default: this folder)', completes: 'folder' } },
  options: {
    'dry-run': { type: 'boolean', text: 'show what the registry would get, and send nothing' },
    'registry': {
      type: 'string', value: 'URL',
      text: `registry to publish to; BULKHEAD_REGISTRY_TOKEN is sent to it if set
(default: publishConfig.registry, else BULKHEAD_REGISTRY, else the registries in npm's configuration)`,
    },
    'config': CONFIG_OPTION, 'root': SOURCE_OPTIONS.root, 'json': COMMON_OPTIONS.json, 'home': COMMON_OPTIONS.home,
    'trust-project': { type: 'boolean', text: 'use the .npmrc of the folder' },
  },
  details: `Packs the folder as "pack" does and writes nothing into it. Then compares it with the latest version of the
registry, as "diff" does, and runs the conformance suite: a version that is too low and an extension that does not
conform are not published. package.json must have a name and the version of
the manifest; "access", "tag" and "registry" of its publishConfig are used. Credentials come from npm's configuration
and go to their own host only. In GitHub Actions with the permission "id-token: write", and in GitLab with
SIGSTORE_ID_TOKEN, a signed statement tells from which source the package was built.`,
  exits: ['if it was published or shown', 'if it was refused'],
  examples: [
    { command: 'bulkhead publish ./word-count --dry-run', text: 'what the registry would get' },
    { command: 'bulkhead publish ./word-count', text: 'with the registry and token of your .npmrc' },
  ],

  async run({ values, positionals: [dir = '.', ...more] }) {
    if (more.length > 0) throw new UsageError('Name one folder after "publish".')
    const config = readConfig(values.config)
    const packed = await readExtensionFolder(dir, values, config)
    const publication = planPublication(packed)
    const project = npmProject(packed.folder, values)
    const registry = await registryToPublish(publication.name, values.registry, publication.registry, project)
    const provenance = canStateProvenance(process.env)
    const isAuthorized = registry.authorization !== undefined || registry.token !== undefined
    const { extension, files, warnings, tarball } = packed
    const { manifest: _, tarball: _bytes, registry: _named, ...shown } = publication
    const facts = { ...shown, registry: registry.url, authorized: isAuthorized, provenance, bytes: tarball.length }
    if (!values.json) {
      process.stderr.write([
        ...sourceLines(packed), ...extensionLines(extension), ...fileLines(files),
        ...publicationLines(facts, files.size), ...warnings.map((text) => line('warning', text)), '',
      ].join('\n'))
    }
    const isDry = values['dry-run'] === true
    const { lines, ok, ...checks } = await checkPublication(publication, packed, registry, { home: values.home, config })
    if (!values.json) process.stderr.write(`${lines.join('\n')}\n`)
    const log = isDry || !ok ? undefined : await publishPackage(publication, { registry, provenance })
    if (values.json) {
      const extra = { transparencyLog: log ?? null, files: [...files.keys()], warnings, ...sourcesJson(packed) }
      printJson({ published: ok && !isDry, ...facts, ok, ...checks, ...extra, ...extensionJson(extension) })
    } else if (!ok) process.stderr.write('Nothing was sent.\n')
    else if (isDry) process.stdout.write(hint('Nothing was sent.\n'))
    else process.stdout.write(`${publishedText(publication, registry.url)}${log === undefined ? '' : `${log}\n`}`)
    return ok ? 0 : 1
  },
})

interface Facts extends Omit<Publication, 'manifest' | 'tarball' | 'registry'> {
  readonly registry: string
  readonly authorized: boolean
  readonly provenance: boolean
  readonly bytes: number
}

function publicationLines(
  { name, version, tag, access, registry, authorized, provenance, tarballIntegrity, bytes }: Facts, files: number,
): readonly string[] {
  return [
    line('package', `${name}@${version}, tag ${tag}, access ${access ?? 'as the registry decides'}`),
    line('size', `${files} files, packed ${sizeInWords(bytes)}`),
    line('tarball', tarballIntegrity),
    line('registry', `${registry}${authorized ? '' : ', without credentials'}`),
    line('source', provenance ? 'stated and signed by this CI job' : 'not stated: this is no CI job with an identity'),
  ]
}

const publishedText = ({ name, version }: Publication, registry: string): string =>
  `Published ${styleText('bold', visibleText(`${name}@${version}`))} to ${visibleText(registry)}\n`
