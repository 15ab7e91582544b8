export { isMultipleOf } from './ajv-keywords.ts'
export { constrains } from './close-schema.ts'
export {
  schemaCompiler, type CompiledSchema, type CompileSchema, type SchemaLibrary, type ValueFault,
} from './compile.ts'
export { dialectOf, inModernKeywords, schemaKeywordForm, type Dialect, type KeywordForm } from './keywords.ts'
export { patternEngine, type LinearLibrary, type LinearPattern, type PatternEngine } from './linear-pattern.ts'
export { valueAt, type SchemaFault } from './schema-tree.ts'
export {
  readSchema, type SchemaDocument, type SchemaLimits, type SchemaReading, type SchemaTerms,
} from './schema-document.ts'
