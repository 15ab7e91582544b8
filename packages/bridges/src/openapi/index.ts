export { OpenapiDocuments, type OpenapiDocumentsOptions } from './documents.ts'
