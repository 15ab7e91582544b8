export { valueAt } from '../json.ts'
export { isMultipleOf } from './ajv-keywords.ts'
export { alternatives, isOfType, typesOf } from './alternatives.ts'
export {
  schemaCompiler, type CompiledSchema, type CompileSchema, type SchemaLibrary, type ValueFault,
} from './compile.ts'
export {
  constrains, dialectOf, isAnnotation, keywordFault, keywordTarget, keywordType, schemaKeywordForm, type Dialect,
  type KeywordForm,
} from './keywords.ts'
export { patternEngine, type LinearLibrary, type LinearPattern, type PatternEngine } from './linear-pattern.ts'
export type { SchemaFault } from './schema-tree.ts'
export {
  readSchema, type SchemaDocument, type SchemaLimits, type SchemaReading, type SchemaTerms,
} from './schema-document.ts'
export {
  hasOwnType, inModernKeywords, mapSubschemas, propertiesOf, subschemaPointer, subschemasOf, withDependents,
  withPrefixItems,
} from './subschemas.ts'
