import { Button } from '../parts/button.tsx'
import { CopyButton, saveText } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { texts } from './texts.ts'

const { codes: words } = texts
const grouped = (code: string) => code.replace(/(.{6})(?=.)/g, '$1-')

/** Shows new recovery codes, once. */
export function RecoveryCodes({ codes, onClose }: { codes: string[] | null; onClose: () => void }) {
  const lines = codes?.map(grouped) ?? []
  const text = `${lines.join('\n')}\n`
  return (
    <Dialog wide open={codes !== null} onClose={onClose} title={words.title} about={words.about}>
      <div className="dialog-body">
        <ol className="codes">
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ol>
        <div className="line">
          <Button icon="download" onClick={() => saveText(words.file, text)}>
            {words.save}
          </Button>
          <CopyButton text={text} />
        </div>
      </div>
      <div className="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {words.done}
        </Button>
      </div>
    </Dialog>
  )
}
