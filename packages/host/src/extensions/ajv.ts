// Loaded late, by its path: `schema-checks.ts`. In a published package it is one file, because Node takes 50 ms to find the
// 60 modules of Ajv.
export { Ajv2020 } from 'ajv/dist/2020.js'
