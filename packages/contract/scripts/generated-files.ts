import { join } from 'node:path'
import { agentManifestSchema } from '../src/validation/agent.ts'
import { configFileSchema } from '../src/validation/config.ts'
import { conformanceReportSchema } from '../src/validation/conformance.ts'
import { machinePolicySchema } from '../src/validation/machine-policy.ts'
import { manifestSchema } from '../src/validation/manifest.ts'
import { authorTypes } from './author-types.ts'
import { editorSchema } from './editor-schema.ts'
import { errorsPage } from './errors-page.ts'
import { eventsPage } from './events-page.ts'
import { limitsPage } from './limits-page.ts'
import {
  agentPage, configurationPage, conformanceReportPage, fixturesPage, machinePolicyPage, manifestPage,
} from './reference-pages.ts'

/** Every generated file, by absolute path, with its content. */
export function generatedFiles(root: string): ReadonlyMap<string, string> {
  const schema = (name: string): string => join(root, 'packages', 'contract', 'schema', name)
  return new Map([
    [schema('manifest.schema.json'), editorSchema(manifestSchema, {
      name: 'manifest',
      title: 'Bulkhead extension manifest',
      description: 'bulkhead.json: what an extension is, offers and needs.',
    })],
    [schema('agent.schema.json'), editorSchema(agentManifestSchema, {
      name: 'agent',
      title: 'Bulkhead agent',
      description: 'agents/NAME.json: what a session is opened for.',
    })],
    [schema('config.schema.json'), editorSchema(configFileSchema, {
      name: 'config',
      title: 'Bulkhead configuration',
      description: 'config.json of one layer: what the operator allows and sets.',
    })],
    [schema('machine-policy.schema.json'), editorSchema(machinePolicySchema, {
      name: 'machine-policy',
      title: 'Bulkhead machine policy',
      description: 'policy.json of a machine: what no configuration can loosen.',
    })],
    [schema('conformance-report.schema.json'), editorSchema(conformanceReportSchema, {
      name: 'conformance-report',
      title: 'Bulkhead conformance report',
      description: 'What bulkhead conformance --json prints.',
    })],
    [join(root, 'packages', 'contract', 'src', 'author', 'declared-keys.ts'), authorTypes()],
    [join(root, 'docs', 'reference', 'errors.md'), errorsPage()],
    [join(root, 'docs', 'reference', 'events.md'), eventsPage()],
    [join(root, 'docs', 'reference', 'limits.md'), limitsPage()],
    [join(root, 'docs', 'reference', 'manifest.md'), manifestPage()],
    [join(root, 'docs', 'reference', 'agent.md'), agentPage()],
    [join(root, 'docs', 'reference', 'configuration.md'), configurationPage()],
    [join(root, 'docs', 'reference', 'machine-policy.md'), machinePolicyPage()],
    [join(root, 'docs', 'reference', 'conformance-report.md'), conformanceReportPage()],
    [join(root, 'docs', 'reference', 'fixtures.md'), fixturesPage()],
  ])
}
