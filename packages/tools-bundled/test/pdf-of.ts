/** A minimal PDF with one line of text on each page. */
export function pdfOf(text: string | readonly string[], title?: string): Buffer {
  const lines = [text].flat()
  const first = title === undefined ? 4 : 5
  const pageNumbers = lines.map((_, index) => first + index * 2)
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${pageNumbers.map((number) => `${number} 0 R`).join(' ')}]/Count ${lines.length}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>', ...(title === undefined ? [] : [`<</Title(${title})>>`]),
    ...lines.flatMap((line, index) => {
      const content = `BT /F1 24 Tf 72 700 Td (${line}) Tj ET`
      return [
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${first + index * 2 + 1} 0 R`
          + '/Resources<</Font<</F1 3 0 R>>>>>>',
        `<</Length ${content.length}>>stream\n${content}\nendstream`,
      ]
    }),
  ]
  let pdf = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = pdf.length
    pdf += `${index + 1} 0 obj${object}endobj\n`
    return offset
  })
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const info = title === undefined ? '' : '/Info 4 0 R'
  return Buffer.from(`${pdf}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`
    + `${rows}trailer<</Size ${objects.length + 1}/Root 1 0 R${info}>>\nstartxref\n${pdf.length}\n%%EOF`)
}

/** The same with a password that is not known. */
export const encryptedPdf = (): string => {
  const zeros = '00'.repeat(32)
  return pdfOf('x')
    .toString('latin1')
    .replace('/Root 1 0 R', `/Root 1 0 R/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<${zeros}>/U<${zeros}>>>`)
}
