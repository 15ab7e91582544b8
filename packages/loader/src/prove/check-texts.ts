import type { Manifest, ToolManifest } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Shaped } from '../describe/extension.ts'
import { deepFreeze } from '../freeze.ts'
import { MAX_FAULTS, pass, type Fault, type StageResult } from '../model/result.ts'
import { findHiddenInstructions } from '../texts/hidden-instructions.ts'
import { plainText } from '../texts/plain-text.ts'
import { readSchemaTexts, type TextReader } from '../texts/schema-texts.ts'

/**
 * What a model will be told is what a person is shown. Words are composed and made visible; names and values that cannot be
 * seen are refused, since they would mean something else if they were written out. What reads like orders to a model is reported.
 */
export function texts(shaped: Shaped): StageResult<Shaped> {
  const faults: Fault[] = []
  const warnings: Fault[] = []
  const reader: TextReader = {
    words(text, path) {
      const plain = plainText(text)
      if (plain !== text.normalize('NFC')) warnings.push(suspicious(path, 'has characters that cannot be seen; they are written out'))
      warnings.push(...findHiddenInstructions(plain).map((what) => suspicious(path, what)))
      return plain
    },
    hidden: (path) => void faults.push({
      stage: 'shape', code: 'ShapeInvalid', path, message: `${visibleText(path)} has characters that cannot be seen.`,
      cure: 'Write the name or value with characters that can be seen.',
    }),
  }
  const manifest = readManifest(shaped.manifest, reader)
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, MAX_FAULTS) }
  return pass({ ...shaped, manifest: deepFreeze(manifest) }, warnings.slice(0, MAX_FAULTS))
}

function readManifest(manifest: Manifest, reader: TextReader): Manifest {
  const { title, description, stateSlot } = manifest
  const schema = (value: JsonObject, path: string) => readSchemaTexts(value, path, reader)
  return {
    ...manifest,
    ...(title !== undefined && { title: reader.words(title, '/title') }),
    ...(description !== undefined && { description: reader.words(description, '/description') }),
    configSchema: schema(manifest.configSchema, '/configSchema'),
    ...(stateSlot !== null && { stateSlot: { ...stateSlot, schema: schema(stateSlot.schema, '/stateSlot/schema') } }),
    tools: manifest.tools.map((tool, index) => readTool(tool, `/tools/${index}`, reader)),
  }
}

function readTool(tool: ToolManifest, path: string, reader: TextReader): ToolManifest {
  const { label, outputSchema } = tool
  return {
    ...tool,
    ...(label !== undefined && { label: reader.words(label, `${path}/label`) }),
    description: reader.words(tool.description, `${path}/description`),
    inputSchema: readSchemaTexts(tool.inputSchema, `${path}/inputSchema`, reader),
    ...(outputSchema !== undefined && { outputSchema: readSchemaTexts(outputSchema, `${path}/outputSchema`, reader) }),
  }
}

const suspicious = (path: string, what: string): Fault => ({
  stage: 'shape', code: 'TextSuspicious', path, message: `The text at ${visibleText(path)} ${what}.`,
})
